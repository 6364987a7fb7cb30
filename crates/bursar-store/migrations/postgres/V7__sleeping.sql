-- Payouts that sleep until their time wait in lanes of their own, by channel: nobody reads them before.

UPDATE due SET lane = 'schedule:' || (f.state::json #>> '{flow,terms,channel}')
FROM flows f WHERE f.id = due.flow AND due.lane = 'payout' AND f.status = 'SCHEDULED';
