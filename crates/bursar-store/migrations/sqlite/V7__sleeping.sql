-- Payouts that sleep until their time wait in lanes of their own, by channel: nobody reads them before.

UPDATE due SET lane = 'schedule:' || (SELECT json_extract(state, '$.flow.terms.channel') FROM flows WHERE id = due.flow)
WHERE lane = 'payout' AND (SELECT status FROM flows WHERE id = due.flow) = 'SCHEDULED';
