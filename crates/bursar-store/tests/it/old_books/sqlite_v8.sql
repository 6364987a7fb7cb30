PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE refinery_schema_history(
             version int4 PRIMARY KEY,
             name VARCHAR(255),
             applied_on VARCHAR(255),
             checksum VARCHAR(255));
INSERT INTO refinery_schema_history VALUES(1,'ledger','2026-11-17T23:35:07.541841506Z','17788859023771276416');
INSERT INTO refinery_schema_history VALUES(2,'flows','2026-11-17T23:35:07.541858308Z','15762217163717635274');
INSERT INTO refinery_schema_history VALUES(3,'postings_by_account','2026-11-17T23:35:07.541859229Z','15680736774365864946');
INSERT INTO refinery_schema_history VALUES(4,'control','2026-11-17T23:35:07.541860271Z','5087109002803131012');
INSERT INTO refinery_schema_history VALUES(5,'registry','2026-11-17T23:35:07.541861073Z','1234903819253855882');
INSERT INTO refinery_schema_history VALUES(6,'entries','2026-11-17T23:35:07.541862175Z','13814418641096529022');
INSERT INTO refinery_schema_history VALUES(7,'sleeping','2026-11-17T23:35:07.541862886Z','3789395333657066680');
INSERT INTO refinery_schema_history VALUES(8,'flows_by_row','2026-11-17T23:35:07.541863627Z','5360325618082462883');
CREATE TABLE chart_lines (
    line INTEGER PRIMARY KEY,
    gl INTEGER NOT NULL,
    name TEXT NOT NULL,
    class TEXT NOT NULL,
    address TEXT NOT NULL,
    liquidity TEXT NOT NULL,
    view TEXT NOT NULL,
    UNIQUE (gl, name, class, address, liquidity, view)
) STRICT;
INSERT INTO chart_lines VALUES(1,5040,'Goodwill and corrections','expense','expenses:adjustment:{currency}','none','pnl');
INSERT INTO chart_lines VALUES(2,2004,'Merchant available','liability','merchants:{merchantId}:available:{currency}','T0','merchant');
INSERT INTO chart_lines VALUES(3,1000,'Settlement bank','asset','assets:bank:{bankId}:{currency}','T0','cash');
INSERT INTO chart_lines VALUES(4,2010,'Payout holds','liability','holds:payout:{merchantId}:{currency}','T0-T1','hold');
INSERT INTO chart_lines VALUES(5,2100,'VAT payable','liability','liabilities:vat:{currency}','T30','tax');
INSERT INTO chart_lines VALUES(6,4010,'Payout fees','revenue','revenue:payout:{currency}','none','pnl');
CREATE TABLE accounts (
    address TEXT NOT NULL,
    currency TEXT NOT NULL,
    balance INTEGER NOT NULL,
    version INTEGER NOT NULL,
    line INTEGER NOT NULL REFERENCES chart_lines (line),
    PRIMARY KEY (address, currency)
) STRICT, WITHOUT ROWID;
INSERT INTO accounts VALUES('assets:bank:b1:PKR','PKR',-1000,1,3);
INSERT INTO accounts VALUES('assets:bank:main:PKR','PKR',10000,1,3);
INSERT INTO accounts VALUES('expenses:adjustment:PKR','PKR',25000,1,1);
INSERT INTO accounts VALUES('holds:payout:m1:PKR','PKR',2110,6,4);
INSERT INTO accounts VALUES('liabilities:vat:PKR','PKR',5,1,5);
INSERT INTO accounts VALUES('merchants:m1:available:PKR','PKR',31835,7,2);
INSERT INTO accounts VALUES('revenue:payout:PKR','PKR',50,1,6);
CREATE TABLE commits (
    seq INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    time INTEGER NOT NULL,
    hash BLOB NOT NULL
) STRICT;
INSERT INTO commits VALUES(1,X'01a1dc80f3e875fd98e04ead0f5256e3',1794700801000000,X'a3064034fefa6d5b1216abab46e1b789963e917414bb1f81025012ea2993d660');
INSERT INTO commits VALUES(2,X'01a1dc80f7d07cf69aa7d016291aa333',1794700802000000,X'1f9082199301a57a7933e0dbda046f329a0771e63913a113f0a99fc31303fb1f');
INSERT INTO commits VALUES(3,X'01a1dc80fbb8721384a77e822655efb6',1794700803000000,X'8f0e3d010d339f87a12292355865a10054e7aca50b2ee167f93c4aff4f8ee183');
INSERT INTO commits VALUES(4,X'01a1dc80ffa0763b8a3d559ee725ef76',1794700804000000,X'92f598405c790cfdeb77986c75446a829655fb35068c0d91303c3cc85f66d7eb');
INSERT INTO commits VALUES(5,X'01a1dc81038872199cfdb21894200b7f',1794700805000000,X'80071014d7424e42bf156877c77ab3d175cd08a2d3c57e22981159171e51a905');
INSERT INTO commits VALUES(6,X'01a1dc8107707850aab065f2fcf15eb0',1794700806000000,X'c1d4e14f9f196ff7c05fc79940412def8a6044e45bafd66c052b3443b5fa3471');
INSERT INTO commits VALUES(7,X'01a1dc810b587133bd6d929c97732ce8',1794700807000000,X'0f93518da2e020e841bf08bffcc44f74420f72210f6e731a1ed1da0661427837');
INSERT INTO commits VALUES(8,X'01a1dc810f407da19fdac8268fc8b7ca',1794700808000000,X'59b32f7c934e24dfeeead281dc63a2b87a26df3428620c04372b1d86da254075');
INSERT INTO commits VALUES(9,X'01a1dc8113287c36959c34e476e94f69',1794700809000000,X'a9d6830829a1b5f0da8f58c44aed84e549b426610bcf4877b81e7a9c00ebc6f1');
INSERT INTO commits VALUES(10,X'01a1dc8117107668ab34dcdcf77d5ab1',1794700810000000,X'2f3c80f36a6d833e14111ed78f5dcf3d842b716453c55086e0e9a33fdc85ae3e');
INSERT INTO commits VALUES(11,X'01a1dc811af87c6986a20568279a7891',1794700811000000,X'dbd07af3ef6d00c2db088e56b55efb606074334650e3d03e3d2b0772d93460a7');
INSERT INTO commits VALUES(12,X'01a1dc811ee072ca94a0191ff5c4531c',1794700812000000,X'8e8b0c358f26d02978bee39ad98b29ae29962113d34736eb2d5cf4d5d15f5290');
INSERT INTO commits VALUES(13,X'01a1dc8122c87507a6e4b891db573d63',1794700813000000,X'1e693e16cccb24873f745d0dcf96f9a92a87cd1c269ab87a83f20dbee9b15fea');
INSERT INTO commits VALUES(14,X'01a1dc8126b076b1a09d8dab71063af6',1794700814000000,X'd83665e1c54165a89e11793aae9655c7ea015c62ff7c7f7c13b5a93c45af2b09');
INSERT INTO commits VALUES(15,X'01a1dc812a987303bbaa085ff683d784',1794700815000000,X'd0f58a09e23139dac09b14b9c69c7de0812f1404ef385d6af81208821977749e');
INSERT INTO commits VALUES(16,X'01a1dc812e8070fca07636e65a18391c',1794700816000000,X'0ae399260d4cf73ecbc457118397e7bfa15ca68c7b6ab0ee47bae531de5d8756');
INSERT INTO commits VALUES(17,X'01a1dc813268795eb204bc186a7fd832',1794700817000000,X'f2236b835466927700748eaab492ee1e48402c205dfa5342aecb0793a3372664');
INSERT INTO commits VALUES(18,X'01a1dc81365077d9b622c85736486123',1794700818000000,X'e54dd3aa8f63eca5ff57e8affe318aae3dd2dff9e9be3e57f53757467af7fe9b');
INSERT INTO commits VALUES(19,X'01a1dc813a387afd84a8e99bef2945d0',1794700819000000,X'10cdef34db2ae7388f08a01ae84bad154aa37e7f257f907bc0adb042b40647f0');
INSERT INTO commits VALUES(20,X'01a1dc813e207d6a99e8e5479bb8d626',1794700820000000,X'812b6095a262093ad75f7d26f25457d226337dea02040398edab5c24342fd96e');
INSERT INTO commits VALUES(21,X'01a1dc8142087933a32622aa51e507bb',1794700821000000,X'e8d165945b8ac70931d97a9db7f41457caeca29a3c043d55d603ef044c62bfe0');
INSERT INTO commits VALUES(22,X'01a1dc8145f076b090af6ac2fcbbb382',1794700822000000,X'38e10e765f8c2adb9e865482e278b854cdea1124af0c4e4016f1d8910c50abc7');
INSERT INTO commits VALUES(23,X'01a1dc8149d87831ac141ba4062e0a53',1794700823000000,X'eb822708efd460f378247f1bc3adf2f590f55bf311f42c4071829e950f7a7757');
INSERT INTO commits VALUES(24,X'01a1dc814dc071ada81baf93abc4d65b',1794700824000000,X'8d146723143bb6eb08bd2eb3fb22ef9e1e60cd232a674c2a28126ad158380efd');
INSERT INTO commits VALUES(25,X'01a1dc8151a8779a8b254cd309eed2c1',1794700825000000,X'585750e7b948b0164b7d9854c31c9c2ea8262090940959fd185575babb5f07cf');
CREATE TABLE head (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    seq INTEGER NOT NULL,
    time INTEGER,
    hash BLOB NOT NULL
, control_version INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO head VALUES(1,25,1794700825000000,X'585750e7b948b0164b7d9854c31c9c2ea8262090940959fd185575babb5f07cf',3);
CREATE TABLE transactions (
    id BLOB PRIMARY KEY,
    commit_id BLOB NOT NULL,
    n INTEGER NOT NULL,
    event TEXT NOT NULL,
    reference TEXT NOT NULL,
    request_hash BLOB NOT NULL,
    rulebook_hash BLOB NOT NULL,
    effective_at INTEGER NOT NULL,
    reverts BLOB,
    UNIQUE (event, reference),
    UNIQUE (commit_id, n)
) STRICT, WITHOUT ROWID;
INSERT INTO transactions VALUES(X'01a1dc80f3e879bba66242757a956f1c',X'01a1dc80f3e875fd98e04ead0f5256e3',0,'ADJUSTMENT_CREDIT','start',X'd64f26466265e23dfe492546e9c01cdf000042ab1b3cddf08b304526631d4ba0',X'1d32c61bed7908cc76c99bece6531a18dac850936bfe5c4704de81f7921a6a4b',1794700801000000,NULL);
INSERT INTO transactions VALUES(X'01a1dc811ee076b89a77ececee89ad66',X'01a1dc811ee072ca94a0191ff5c4531c',0,'PAYIN_COLLECTION','pi_01a1dc811af87d15aaa37d3468ee2df3',X'c82b7ae999e23b9c355bbe6720d73c8e0e4fb1ed7d5cc3a7f0190d5c12867fb3',X'1d32c61bed7908cc76c99bece6531a18dac850936bfe5c4704de81f7921a6a4b',1794700812000000,NULL);
INSERT INTO transactions VALUES(X'01a1dc812a9872b2a4f7480bd92ad0dc',X'01a1dc812a987303bbaa085ff683d784',0,'PAYOUT_RESERVE','po_01a1dc812a9875258c9f45b4f9a1d6b2',X'3a487d67558829eac5c945089579a639173bb0c20b282d4a8279be01633ba893',X'1d32c61bed7908cc76c99bece6531a18dac850936bfe5c4704de81f7921a6a4b',1794700815000000,NULL);
INSERT INTO transactions VALUES(X'01a1dc812e807e54a8f7be9c486f9f3e',X'01a1dc812e8070fca07636e65a18391c',0,'PAYOUT_RESERVE','po_01a1dc812e80798d8aa89be74a4d07db',X'659f1e42d32e23ecdc85d37d3f71bb721ffc6531c696b7d654f3ea956eea311e',X'1d32c61bed7908cc76c99bece6531a18dac850936bfe5c4704de81f7921a6a4b',1794700816000000,NULL);
INSERT INTO transactions VALUES(X'01a1dc81326875f59a4985071f5866f8',X'01a1dc813268795eb204bc186a7fd832',0,'PAYOUT_RESERVE','po_01a1dc8132687dd19fc2dc5f4c9af557',X'9c5f7d89c80be79632fb24cbc6fe1961bdb9a080cb99b9ff3b0939b6bb161544',X'1d32c61bed7908cc76c99bece6531a18dac850936bfe5c4704de81f7921a6a4b',1794700817000000,NULL);
INSERT INTO transactions VALUES(X'01a1dc813a3877129e6650fdc80b53b4',X'01a1dc813a387afd84a8e99bef2945d0',0,'PAYOUT_SETTLE','po_01a1dc812a9875258c9f45b4f9a1d6b2',X'34d4313d734e843b47330d81519b24532d709d23a19afb72ff108ea4298ebfa1',X'1d32c61bed7908cc76c99bece6531a18dac850936bfe5c4704de81f7921a6a4b',1794700819000000,NULL);
INSERT INTO transactions VALUES(X'01a1dc813e207c66b8df02701d289026',X'01a1dc813e207d6a99e8e5479bb8d626',0,'PAYOUT_RESERVE','po_01a1dc813e207fe5a819aaaf1180ef01',X'720c0577e092710bfcb097071533e5d0060de194642e926020703181ad94fa3d',X'1d32c61bed7908cc76c99bece6531a18dac850936bfe5c4704de81f7921a6a4b',1794700820000000,NULL);
INSERT INTO transactions VALUES(X'01a1dc81420875b4b4f1a64fb9892b94',X'01a1dc8142087933a32622aa51e507bb',0,'PAYOUT_RELEASE','po_01a1dc813e207fe5a819aaaf1180ef01',X'264032e05d164fb28070b6083958d8eddff3b93396dedb78975b64c9b4150397',X'1d32c61bed7908cc76c99bece6531a18dac850936bfe5c4704de81f7921a6a4b',1794700821000000,NULL);
CREATE TABLE postings (
    tx BLOB NOT NULL,
    n INTEGER NOT NULL,
    source TEXT NOT NULL,
    destination TEXT NOT NULL,
    currency TEXT NOT NULL,
    amount INTEGER NOT NULL CHECK (amount > 0),
    PRIMARY KEY (tx, n)
) STRICT, WITHOUT ROWID;
INSERT INTO postings VALUES(X'01a1dc80f3e879bba66242757a956f1c',0,'world','expenses:adjustment:PKR','PKR',25000);
INSERT INTO postings VALUES(X'01a1dc80f3e879bba66242757a956f1c',1,'world','merchants:m1:available:PKR','PKR',25000);
INSERT INTO postings VALUES(X'01a1dc811ee076b89a77ececee89ad66',0,'world','assets:bank:main:PKR','PKR',10000);
INSERT INTO postings VALUES(X'01a1dc811ee076b89a77ececee89ad66',1,'world','merchants:m1:available:PKR','PKR',10000);
INSERT INTO postings VALUES(X'01a1dc812a9872b2a4f7480bd92ad0dc',0,'merchants:m1:available:PKR','holds:payout:m1:PKR','PKR',1055);
INSERT INTO postings VALUES(X'01a1dc812e807e54a8f7be9c486f9f3e',0,'merchants:m1:available:PKR','holds:payout:m1:PKR','PKR',1055);
INSERT INTO postings VALUES(X'01a1dc81326875f59a4985071f5866f8',0,'merchants:m1:available:PKR','holds:payout:m1:PKR','PKR',1055);
INSERT INTO postings VALUES(X'01a1dc813a3877129e6650fdc80b53b4',0,'holds:payout:m1:PKR','world','PKR',1000);
INSERT INTO postings VALUES(X'01a1dc813a3877129e6650fdc80b53b4',1,'assets:bank:b1:PKR','world','PKR',1000);
INSERT INTO postings VALUES(X'01a1dc813a3877129e6650fdc80b53b4',2,'holds:payout:m1:PKR','revenue:payout:PKR','PKR',50);
INSERT INTO postings VALUES(X'01a1dc813a3877129e6650fdc80b53b4',3,'holds:payout:m1:PKR','liabilities:vat:PKR','PKR',5);
INSERT INTO postings VALUES(X'01a1dc813e207c66b8df02701d289026',0,'merchants:m1:available:PKR','holds:payout:m1:PKR','PKR',1055);
INSERT INTO postings VALUES(X'01a1dc81420875b4b4f1a64fb9892b94',0,'holds:payout:m1:PKR','merchants:m1:available:PKR','PKR',1055);
CREATE TABLE holds (
    gl INTEGER NOT NULL,
    reference TEXT NOT NULL,
    account TEXT NOT NULL,
    currency TEXT NOT NULL,
    amount INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    ended_by BLOB,
    PRIMARY KEY (gl, reference)
) STRICT, WITHOUT ROWID;
INSERT INTO holds VALUES(2010,'po_01a1dc812a9875258c9f45b4f9a1d6b2','holds:payout:m1:PKR','PKR',1055,1,X'01a1dc813a3877129e6650fdc80b53b4');
INSERT INTO holds VALUES(2010,'po_01a1dc812e80798d8aa89be74a4d07db','holds:payout:m1:PKR','PKR',1055,1,NULL);
INSERT INTO holds VALUES(2010,'po_01a1dc8132687dd19fc2dc5f4c9af557','holds:payout:m1:PKR','PKR',1055,1,NULL);
INSERT INTO holds VALUES(2010,'po_01a1dc813e207fe5a819aaaf1180ef01','holds:payout:m1:PKR','PKR',1055,1,X'01a1dc81420875b4b4f1a64fb9892b94');
CREATE TABLE due (
    lane TEXT NOT NULL,
    due_at INTEGER NOT NULL,
    flow BLOB NOT NULL,
    PRIMARY KEY (lane, due_at, flow)
) STRICT, WITHOUT ROWID;
INSERT INTO due VALUES('submit:wallet',1794700816000000,X'01a1dc812e80798d8aa89be74a4d07db');
INSERT INTO due VALUES('submit:wallet',1794700817000000,X'01a1dc8132687dd19fc2dc5f4c9af557');
INSERT INTO due VALUES('webhook-lease',1794700860000000,X'01a1dc811af87ee49f1303c615816773');
INSERT INTO due VALUES('webhook:we_01a1dc80f0007886b762036f91fff5ec',1794700812000000,X'01a1dc811ee07e2888c797d08c71dd8f');
INSERT INTO due VALUES('webhook:we_01a1dc80f0007886b762036f91fff5ec',1794700813000000,X'01a1dc8122c8797ab19dd35db0d93326');
INSERT INTO due VALUES('webhook:we_01a1dc80f0007886b762036f91fff5ec',1794700814000000,X'01a1dc8126b07593bee1f1cfd87c7856');
INSERT INTO due VALUES('webhook:we_01a1dc80f0007886b762036f91fff5ec',1794700815000000,X'01a1dc812a987ceabde30bbba1cfc825');
INSERT INTO due VALUES('webhook:we_01a1dc80f0007886b762036f91fff5ec',1794700816000000,X'01a1dc812e807cb2b5e938cebd76a12b');
INSERT INTO due VALUES('webhook:we_01a1dc80f0007886b762036f91fff5ec',1794700817000000,X'01a1dc81326872469dc3905c0032764b');
INSERT INTO due VALUES('webhook:we_01a1dc80f0007886b762036f91fff5ec',1794700818000000,X'01a1dc81365075c983e650732212b8d6');
INSERT INTO due VALUES('webhook:we_01a1dc80f0007886b762036f91fff5ec',1794700819000000,X'01a1dc813a38725c9beca90d90fc4562');
INSERT INTO due VALUES('webhook:we_01a1dc80f0007886b762036f91fff5ec',1794700820000000,X'01a1dc813e2075cd83cf04e5881130ee');
INSERT INTO due VALUES('webhook:we_01a1dc80f0007886b762036f91fff5ec',1794700821000000,X'01a1dc8142087489bb53742d20308399');
CREATE TABLE keys (
    digest BLOB NOT NULL UNIQUE,
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    request_hash BLOB NOT NULL,
    flow BLOB NOT NULL,
    reply TEXT NOT NULL
) STRICT;
INSERT INTO keys VALUES(X'72316df06d3de8123d43c26123a26b4d','m1','four',X'8f667f1840748d1562691aa777bd1e14021aaa09f3fa1b46753b8bce27df23a4',X'01a1dc813e207fe5a819aaaf1180ef01','{"kind":"payout","id":"po_01a1dc813e207fe5a819aaaf1180ef01","status":"READY","final":false,"version":1,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-3e20-7e13-a6df-98a2d6071a13","created_at":"2026-11-15T00:00:20Z","updated_at":"2026-11-15T00:00:20Z"}');
INSERT INTO keys VALUES(X'b5036fe2dbfe4ec7cf2a7126529f4b33','m1','two',X'8f667f1840748d1562691aa777bd1e14021aaa09f3fa1b46753b8bce27df23a4',X'01a1dc812e80798d8aa89be74a4d07db','{"kind":"payout","id":"po_01a1dc812e80798d8aa89be74a4d07db","status":"READY","final":false,"version":1,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-2e80-777a-bb35-4b358982ebb4","created_at":"2026-11-15T00:00:16Z","updated_at":"2026-11-15T00:00:16Z"}');
INSERT INTO keys VALUES(X'c7bc63db43f304d17b5168292d5344b6','m1','five',X'cbbec005b4b62cad567f351887ba9693f1d7a3c7c7fe7ff1151631aa55fe43ba',X'01a1dc813e207fe5a819aaaf1180ef01','{"kind":"payout","id":"po_01a1dc813e207fe5a819aaaf1180ef01","status":"CANCELLED","final":true,"version":2,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-3e20-7e13-a6df-98a2d6071a13","created_at":"2026-11-15T00:00:20Z","updated_at":"2026-11-15T00:00:21Z"}');
INSERT INTO keys VALUES(X'd052bf662a9e8ffa28653ff0901667e7','m1','one',X'8f667f1840748d1562691aa777bd1e14021aaa09f3fa1b46753b8bce27df23a4',X'01a1dc812a9875258c9f45b4f9a1d6b2','{"kind":"payout","id":"po_01a1dc812a9875258c9f45b4f9a1d6b2","status":"READY","final":false,"version":1,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-2a98-78a6-a631-033df9b9cbd2","created_at":"2026-11-15T00:00:15Z","updated_at":"2026-11-15T00:00:15Z"}');
INSERT INTO keys VALUES(X'f89072386dc21c80c2ec0e1a68999c60','m1','three',X'8f667f1840748d1562691aa777bd1e14021aaa09f3fa1b46753b8bce27df23a4',X'01a1dc8132687dd19fc2dc5f4c9af557','{"kind":"payout","id":"po_01a1dc8132687dd19fc2dc5f4c9af557","status":"READY","final":false,"version":1,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-3268-70ca-a1a9-dded48bf592b","created_at":"2026-11-15T00:00:17Z","updated_at":"2026-11-15T00:00:17Z"}');
CREATE TABLE attempts (
    channel TEXT NOT NULL,
    reference TEXT NOT NULL,
    flow BLOB NOT NULL,
    PRIMARY KEY (channel, reference)
) STRICT, WITHOUT ROWID;
INSERT INTO attempts VALUES('payin:easy','r0',X'01a1dc8126b0722c8eafe314423a0e0d');
INSERT INTO attempts VALUES('payin:easy','r1',X'01a1dc811af87d15aaa37d3468ee2df3');
INSERT INTO attempts VALUES('wallet','01a1dc81-2a98-78a6-a631-033df9b9cbd2',X'01a1dc812a9875258c9f45b4f9a1d6b2');
INSERT INTO attempts VALUES('wallet','01a1dc81-2e80-777a-bb35-4b358982ebb4',X'01a1dc812e80798d8aa89be74a4d07db');
INSERT INTO attempts VALUES('wallet','01a1dc81-3268-70ca-a1a9-dded48bf592b',X'01a1dc8132687dd19fc2dc5f4c9af557');
INSERT INTO attempts VALUES('wallet','01a1dc81-3e20-7e13-a6df-98a2d6071a13',X'01a1dc813e207fe5a819aaaf1180ef01');
CREATE TABLE events (
    commit_id BLOB NOT NULL,
    n INTEGER NOT NULL,
    id BLOB NOT NULL,
    kind TEXT NOT NULL,
    resource TEXT NOT NULL,
    merchant TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    time INTEGER NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (commit_id, n),
    UNIQUE (resource, sequence)
) STRICT, WITHOUT ROWID;
INSERT INTO events VALUES(X'01a1dc8113287c36959c34e476e94f69',0,X'01a1dc8113287b7b83fd9dfacef4c338','alert.raised','alert:stuck','',1,1794700809000000,'{"is_raised":true,"detail":"1 payout"}');
INSERT INTO events VALUES(X'01a1dc8117107668ab34dcdcf77d5ab1',0,X'01a1dc8117107bedb17f64db1adc2b93','alert.cleared','alert:stuck','',2,1794700810000000,'{"is_raised":false,"detail":""}');
INSERT INTO events VALUES(X'01a1dc811af87c6986a20568279a7891',0,X'01a1dc811af87ee4afdc30b6e839704c','payin.pending','pi_01a1dc811af87d15aaa37d3468ee2df3','m1',1,1794700811000000,'{"kind":"payin","id":"pi_01a1dc811af87d15aaa37d3468ee2df3","status":"PENDING","version":1,"merchant_id":"m1","provider":"easy","reference":"r1","amount":"100.00","net":"100.00","fee":"0.00","vat":"0.00","currency":"PKR","created_at":"2026-11-15T00:00:11Z","updated_at":"2026-11-15T00:00:11Z"}');
INSERT INTO events VALUES(X'01a1dc811ee072ca94a0191ff5c4531c',0,X'01a1dc811ee07e28b59e841195d42ec1','payin.success','pi_01a1dc811af87d15aaa37d3468ee2df3','m1',2,1794700812000000,'{"kind":"payin","id":"pi_01a1dc811af87d15aaa37d3468ee2df3","status":"COLLECTED","version":2,"merchant_id":"m1","provider":"easy","reference":"r1","amount":"100.00","net":"100.00","fee":"0.00","vat":"0.00","currency":"PKR","created_at":"2026-11-15T00:00:11Z","updated_at":"2026-11-15T00:00:12Z"}');
INSERT INTO events VALUES(X'01a1dc8122c87507a6e4b891db573d63',0,X'01a1dc8122c8797aaf100485d4fb6a4d','payin.contradicted','pi_01a1dc811af87d15aaa37d3468ee2df3','m1',3,1794700813000000,'{"kind":"payin","id":"pi_01a1dc811af87d15aaa37d3468ee2df3","status":"CONTRADICTED","version":3,"merchant_id":"m1","provider":"easy","reference":"r1","amount":"100.00","net":"100.00","fee":"0.00","vat":"0.00","currency":"PKR","created_at":"2026-11-15T00:00:11Z","updated_at":"2026-11-15T00:00:13Z"}');
INSERT INTO events VALUES(X'01a1dc8126b076b1a09d8dab71063af6',0,X'01a1dc8126b07593a0e1cc8b01e30eb7','payin.pending','pi_01a1dc8126b0722c8eafe314423a0e0d','m1',1,1794700814000000,'{"kind":"payin","id":"pi_01a1dc8126b0722c8eafe314423a0e0d","status":"PENDING","version":1,"merchant_id":"m1","provider":"easy","reference":"r0","amount":"100.00","net":"100.00","fee":"0.00","vat":"0.00","currency":"PKR","created_at":"2026-11-15T00:00:14Z","updated_at":"2026-11-15T00:00:14Z"}');
INSERT INTO events VALUES(X'01a1dc812a987303bbaa085ff683d784',0,X'01a1dc812a987cea80251c27e2db4bf1','payout.ready','po_01a1dc812a9875258c9f45b4f9a1d6b2','m1',1,1794700815000000,'{"kind":"payout","id":"po_01a1dc812a9875258c9f45b4f9a1d6b2","status":"READY","final":false,"version":1,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-2a98-78a6-a631-033df9b9cbd2","created_at":"2026-11-15T00:00:15Z","updated_at":"2026-11-15T00:00:15Z"}');
INSERT INTO events VALUES(X'01a1dc812e8070fca07636e65a18391c',0,X'01a1dc812e807cb29ee5b15df61d699b','payout.ready','po_01a1dc812e80798d8aa89be74a4d07db','m1',1,1794700816000000,'{"kind":"payout","id":"po_01a1dc812e80798d8aa89be74a4d07db","status":"READY","final":false,"version":1,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-2e80-777a-bb35-4b358982ebb4","created_at":"2026-11-15T00:00:16Z","updated_at":"2026-11-15T00:00:16Z"}');
INSERT INTO events VALUES(X'01a1dc813268795eb204bc186a7fd832',0,X'01a1dc81326872469c4cada17bd9482b','payout.ready','po_01a1dc8132687dd19fc2dc5f4c9af557','m1',1,1794700817000000,'{"kind":"payout","id":"po_01a1dc8132687dd19fc2dc5f4c9af557","status":"READY","final":false,"version":1,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-3268-70ca-a1a9-dded48bf592b","created_at":"2026-11-15T00:00:17Z","updated_at":"2026-11-15T00:00:17Z"}');
INSERT INTO events VALUES(X'01a1dc81365077d9b622c85736486123',0,X'01a1dc81365075c9a5c352f2ebfcbeeb','payout.submitting','po_01a1dc812a9875258c9f45b4f9a1d6b2','m1',2,1794700818000000,'{"kind":"payout","id":"po_01a1dc812a9875258c9f45b4f9a1d6b2","status":"SUBMITTING","final":false,"version":2,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-2a98-78a6-a631-033df9b9cbd2","created_at":"2026-11-15T00:00:15Z","updated_at":"2026-11-15T00:00:18Z"}');
INSERT INTO events VALUES(X'01a1dc813a387afd84a8e99bef2945d0',0,X'01a1dc813a38725ca7a1fab79b4d2da3','payout.success','po_01a1dc812a9875258c9f45b4f9a1d6b2','m1',3,1794700819000000,'{"kind":"payout","id":"po_01a1dc812a9875258c9f45b4f9a1d6b2","status":"SUCCESS","final":true,"version":3,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-2a98-78a6-a631-033df9b9cbd2","created_at":"2026-11-15T00:00:15Z","updated_at":"2026-11-15T00:00:19Z"}');
INSERT INTO events VALUES(X'01a1dc813e207d6a99e8e5479bb8d626',0,X'01a1dc813e2075cdabbe7bb54974879a','payout.ready','po_01a1dc813e207fe5a819aaaf1180ef01','m1',1,1794700820000000,'{"kind":"payout","id":"po_01a1dc813e207fe5a819aaaf1180ef01","status":"READY","final":false,"version":1,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-3e20-7e13-a6df-98a2d6071a13","created_at":"2026-11-15T00:00:20Z","updated_at":"2026-11-15T00:00:20Z"}');
INSERT INTO events VALUES(X'01a1dc8142087933a32622aa51e507bb',0,X'01a1dc814208748991431cba130df4dc','payout.cancelled','po_01a1dc813e207fe5a819aaaf1180ef01','m1',2,1794700821000000,'{"kind":"payout","id":"po_01a1dc813e207fe5a819aaaf1180ef01","status":"CANCELLED","final":true,"version":2,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-3e20-7e13-a6df-98a2d6071a13","created_at":"2026-11-15T00:00:20Z","updated_at":"2026-11-15T00:00:21Z"}');
CREATE TABLE audit (
    commit_id BLOB NOT NULL,
    n INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    resource TEXT NOT NULL,
    note TEXT NOT NULL,
    time INTEGER NOT NULL,
    PRIMARY KEY (commit_id, n)
) STRICT, WITHOUT ROWID;
INSERT INTO audit VALUES(X'01a1dc80f7d07cf69aa7d016291aa333',0,'ops','merchant.open','m1','',1794700802000000);
INSERT INTO audit VALUES(X'01a1dc80fbb8721384a77e822655efb6',0,'ops','webhook_endpoint.add','we_01a1dc80f0007886b762036f91fff5ec','',1794700803000000);
INSERT INTO audit VALUES(X'01a1dc80ffa0763b8a3d559ee725ef76',0,'ops','webhook_endpoint.add','we_01a1dc80f0007874a386d5ec2fadb8a6','',1794700804000000);
INSERT INTO audit VALUES(X'01a1dc81038872199cfdb21894200b7f',0,'ops','webhook_endpoint.disable','we_01a1dc80f0007874a386d5ec2fadb8a6','',1794700805000000);
INSERT INTO audit VALUES(X'01a1dc8107707850aab065f2fcf15eb0',0,'ops','beneficiary.add','ben_01a1dc8107707f84ba91ff5793259c82','',1794700806000000);
INSERT INTO audit VALUES(X'01a1dc810b587133bd6d929c97732ce8',0,'ops','key.issue','key_07070707070707070707070707070707','',1794700807000000);
INSERT INTO audit VALUES(X'01a1dc810f407da19fdac8268fc8b7ca',0,'ops','key.revoke','key_07070707070707070707070707070707','',1794700808000000);
INSERT INTO audit VALUES(X'01a1dc8126b076b1a09d8dab71063af6',0,'ops','payin.record','pi_01a1dc8126b0722c8eafe314423a0e0d','r0',1794700814000000);
INSERT INTO audit VALUES(X'01a1dc812e8070fca07636e65a18391c',0,'ops','payout.create','po_01a1dc812e80798d8aa89be74a4d07db','',1794700816000000);
INSERT INTO audit VALUES(X'01a1dc8142087933a32622aa51e507bb',0,'m1','payout.cancel','po_01a1dc813e207fe5a819aaaf1180ef01','',1794700821000000);
INSERT INTO audit VALUES(X'01a1dc8145f076b090af6ac2fcbbb382',0,'ops1','freeze','merchant:m9','a leak',1794700822000000);
INSERT INTO audit VALUES(X'01a1dc8149d87831ac141ba4062e0a53',0,'ops1','freeze','channel:bank','a leak',1794700823000000);
INSERT INTO audit VALUES(X'01a1dc814dc071ada81baf93abc4d65b',0,'ops2','unfreeze.propose','channel:bank','mended',1794700824000000);
CREATE TABLE freezes (
    scope TEXT PRIMARY KEY,
    details TEXT NOT NULL
) STRICT;
INSERT INTO freezes VALUES('{"channel":"bank"}','{"reason":"a leak","actor":"ops1","since":"2026-11-15T00:00:23Z","lifted_by":{"actor":"ops2","is_approver":true}}');
INSERT INTO freezes VALUES('{"merchant":"m9"}','{"reason":"a leak","actor":"ops1","since":"2026-11-15T00:00:22Z"}');
CREATE TABLE registry (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    merchant TEXT NOT NULL,
    version INTEGER NOT NULL,
    content TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;
INSERT INTO registry VALUES('alert','stuck','',2,'{"is_raised":false,"detail":""}',1794700809000000,1794700810000000);
INSERT INTO registry VALUES('api_key','key_07070707070707070707070707070707','m1',2,'{"name":"till 7","role":"merchant","merchant":"m1","digest":"0707070707070707070707070707070707070707070707070707070707070707","revoked_at":"2026-11-15T00:00:08Z"}',1794700807000000,1794700808000000);
INSERT INTO registry VALUES('beneficiary','ben_01a1dc8107707f84ba91ff5793259c82','m1',1,'{"merchant":"m1","details":{"name":"A. Khan","msisdn":"923001234567"}}',1794700806000000,1794700806000000);
INSERT INTO registry VALUES('merchant','m1','m1',4,'{"name":"Shop m1","status":"open","subscriptions":[{"endpoint":"we_01a1dc80f0007886b762036f91fff5ec","event_types":["*"],"version":"2024-01-01"}]}',1794700802000000,1794700805000000);
INSERT INTO registry VALUES('webhook_endpoint','we_01a1dc80f0007874a386d5ec2fadb8a6','m1',2,'{"merchant":"m1","settings":{"url":"https://merchant.example/hooks","event_types":["payout.success"],"version":"2024-01-01","header_names":[],"concurrency":2},"status":{"disabled":{"reason":"it is moved","at":"2026-11-15T00:00:05Z"}},"secrets":[{"sealed":"sealed"}],"told":0}',1794700804000000,1794700805000000);
INSERT INTO registry VALUES('webhook_endpoint','we_01a1dc80f0007886b762036f91fff5ec','m1',1,'{"merchant":"m1","settings":{"url":"https://merchant.example/hooks","event_types":["*"],"version":"2024-01-01","header_names":[],"concurrency":2},"status":"enabled","secrets":[{"sealed":"sealed"}],"told":0}',1794700803000000,1794700803000000);
CREATE TABLE slices (
    seq INTEGER PRIMARY KEY
) STRICT;
CREATE TABLE entries (
    slice INTEGER NOT NULL,
    account TEXT NOT NULL,
    seq INTEGER NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (slice, account, seq, n)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS "flows" (
    id BLOB NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    merchant TEXT NOT NULL,
    status TEXT NOT NULL,
    version INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    state TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
INSERT INTO flows VALUES(X'01a1dc811af87d15aaa37d3468ee2df3','payin','m1','CONTRADICTED',3,3,'{"v":1,"flow":{"terms":{"funds":{"merchant":"m1","bank":"main","currency":"PKR","amount":10000,"fee":0,"vat":0},"provider":"easy","reference":"r1"},"state":"contradicted","said":{"Completed":{"said":"completed","at":"2026-11-15T00:00:12Z"},"Failed":{"said":"failed","at":"2026-11-15T00:00:13Z"},"Pending":{"said":"pending","at":"2026-11-15T00:00:11Z"}}}}',1794700811000000,1794700813000000);
INSERT INTO flows VALUES(X'01a1dc811af87ee49f1303c615816773','delivery','m1','DELIVERING',2,0,'{"v":1,"flow":{"terms":{"event":"evt_01a1dc811af87ee4afdc30b6e839704c","kind":"payin.pending","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc811af87ee4afdc30b6e839704c\",\"source\":\"bursar\",\"type\":\"payin.pending\",\"subject\":\"pi_01a1dc811af87d15aaa37d3468ee2df3\",\"time\":\"2026-11-15T00:00:11Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":1,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payin\",\"id\":\"pi_01a1dc811af87d15aaa37d3468ee2df3\",\"status\":\"PENDING\",\"version\":1,\"merchant_id\":\"m1\",\"provider\":\"easy\",\"reference\":\"r1\",\"amount\":\"100.00\",\"net\":\"100.00\",\"fee\":\"0.00\",\"vat\":\"0.00\",\"currency\":\"PKR\",\"created_at\":\"2026-11-15T00:00:11Z\",\"updated_at\":\"2026-11-15T00:00:11Z\"}}"},"state":{"delivering":{"since":"2026-11-15T00:00:25Z","lease_until":"2026-11-15T00:01:00Z"}},"attempts":1,"before":0,"is_replayed":false,"history":[]}}',1794700811000000,1794700825000000);
INSERT INTO flows VALUES(X'01a1dc811ee07e2888c797d08c71dd8f','delivery','m1','PENDING',1,0,'{"v":1,"flow":{"terms":{"event":"evt_01a1dc811ee07e28b59e841195d42ec1","kind":"payin.success","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc811ee07e28b59e841195d42ec1\",\"source\":\"bursar\",\"type\":\"payin.success\",\"subject\":\"pi_01a1dc811af87d15aaa37d3468ee2df3\",\"time\":\"2026-11-15T00:00:12Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":2,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payin\",\"id\":\"pi_01a1dc811af87d15aaa37d3468ee2df3\",\"status\":\"COLLECTED\",\"version\":2,\"merchant_id\":\"m1\",\"provider\":\"easy\",\"reference\":\"r1\",\"amount\":\"100.00\",\"net\":\"100.00\",\"fee\":\"0.00\",\"vat\":\"0.00\",\"currency\":\"PKR\",\"created_at\":\"2026-11-15T00:00:11Z\",\"updated_at\":\"2026-11-15T00:00:12Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:12Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}',1794700812000000,1794700812000000);
INSERT INTO flows VALUES(X'01a1dc8122c8797ab19dd35db0d93326','delivery','m1','PENDING',1,0,'{"v":1,"flow":{"terms":{"event":"evt_01a1dc8122c8797aaf100485d4fb6a4d","kind":"payin.contradicted","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc8122c8797aaf100485d4fb6a4d\",\"source\":\"bursar\",\"type\":\"payin.contradicted\",\"subject\":\"pi_01a1dc811af87d15aaa37d3468ee2df3\",\"time\":\"2026-11-15T00:00:13Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":3,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payin\",\"id\":\"pi_01a1dc811af87d15aaa37d3468ee2df3\",\"status\":\"CONTRADICTED\",\"version\":3,\"merchant_id\":\"m1\",\"provider\":\"easy\",\"reference\":\"r1\",\"amount\":\"100.00\",\"net\":\"100.00\",\"fee\":\"0.00\",\"vat\":\"0.00\",\"currency\":\"PKR\",\"created_at\":\"2026-11-15T00:00:11Z\",\"updated_at\":\"2026-11-15T00:00:13Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:13Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}',1794700813000000,1794700813000000);
INSERT INTO flows VALUES(X'01a1dc8126b0722c8eafe314423a0e0d','payin','m1','PENDING',1,1,'{"v":1,"flow":{"terms":{"funds":{"merchant":"m1","bank":"main","currency":"PKR","amount":10000,"fee":0,"vat":0},"provider":"easy","reference":"r0"},"state":"pending","said":{"Pending":{"said":"pending","at":"2026-11-15T00:00:14Z"}}}}',1794700814000000,1794700814000000);
INSERT INTO flows VALUES(X'01a1dc8126b07593bee1f1cfd87c7856','delivery','m1','PENDING',1,0,'{"v":1,"flow":{"terms":{"event":"evt_01a1dc8126b07593a0e1cc8b01e30eb7","kind":"payin.pending","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc8126b07593a0e1cc8b01e30eb7\",\"source\":\"bursar\",\"type\":\"payin.pending\",\"subject\":\"pi_01a1dc8126b0722c8eafe314423a0e0d\",\"time\":\"2026-11-15T00:00:14Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":1,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payin\",\"id\":\"pi_01a1dc8126b0722c8eafe314423a0e0d\",\"status\":\"PENDING\",\"version\":1,\"merchant_id\":\"m1\",\"provider\":\"easy\",\"reference\":\"r0\",\"amount\":\"100.00\",\"net\":\"100.00\",\"fee\":\"0.00\",\"vat\":\"0.00\",\"currency\":\"PKR\",\"created_at\":\"2026-11-15T00:00:14Z\",\"updated_at\":\"2026-11-15T00:00:14Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:14Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}',1794700814000000,1794700814000000);
INSERT INTO flows VALUES(X'01a1dc812a9875258c9f45b4f9a1d6b2','payout','m1','SUCCESS',3,3,'{"v":1,"flow":{"terms":{"funds":{"merchant":"m1","bank":"b1","currency":"PKR","amount":1000,"fee":50,"vat":5},"channel":"wallet","beneficiary":{"name":"A. Khan","msisdn":"923001234567"}},"attempts":[{"number":1,"reference":"01a1dc81-2a98-78a6-a631-033df9b9cbd2","tries":1,"sent_by":"2026-11-15T00:01:33Z","ended":1,"evidence":[[{"source":"submission","verdict":"paid","provider_reference":"px-1"},"2026-11-15T00:00:19Z"]]}],"state":"success","settled":1,"hold_epoch":1}}',1794700815000000,1794700819000000);
INSERT INTO flows VALUES(X'01a1dc812a987ceabde30bbba1cfc825','delivery','m1','PENDING',1,0,'{"v":1,"flow":{"terms":{"event":"evt_01a1dc812a987cea80251c27e2db4bf1","kind":"payout.ready","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc812a987cea80251c27e2db4bf1\",\"source\":\"bursar\",\"type\":\"payout.ready\",\"subject\":\"po_01a1dc812a9875258c9f45b4f9a1d6b2\",\"time\":\"2026-11-15T00:00:15Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":1,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payout\",\"id\":\"po_01a1dc812a9875258c9f45b4f9a1d6b2\",\"status\":\"READY\",\"final\":false,\"version\":1,\"merchant_id\":\"m1\",\"amount\":\"10.00\",\"fee\":\"0.50\",\"vat\":\"0.05\",\"currency\":\"PKR\",\"channel\":\"wallet\",\"reference\":\"01a1dc81-2a98-78a6-a631-033df9b9cbd2\",\"created_at\":\"2026-11-15T00:00:15Z\",\"updated_at\":\"2026-11-15T00:00:15Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:15Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}',1794700815000000,1794700815000000);
INSERT INTO flows VALUES(X'01a1dc812e80798d8aa89be74a4d07db','payout','m1','READY',1,1,'{"v":1,"flow":{"terms":{"funds":{"merchant":"m1","bank":"b1","currency":"PKR","amount":1000,"fee":50,"vat":5},"channel":"wallet","beneficiary":{"name":"A. Khan","msisdn":"923001234567"}},"attempts":[{"number":1,"reference":"01a1dc81-2e80-777a-bb35-4b358982ebb4","tries":0,"sent_by":null,"evidence":[]}],"state":{"ready":{"not_before":"2026-11-15T00:00:16Z"}},"hold_epoch":1}}',1794700816000000,1794700816000000);
INSERT INTO flows VALUES(X'01a1dc812e807cb2b5e938cebd76a12b','delivery','m1','PENDING',1,0,'{"v":1,"flow":{"terms":{"event":"evt_01a1dc812e807cb29ee5b15df61d699b","kind":"payout.ready","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc812e807cb29ee5b15df61d699b\",\"source\":\"bursar\",\"type\":\"payout.ready\",\"subject\":\"po_01a1dc812e80798d8aa89be74a4d07db\",\"time\":\"2026-11-15T00:00:16Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":1,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payout\",\"id\":\"po_01a1dc812e80798d8aa89be74a4d07db\",\"status\":\"READY\",\"final\":false,\"version\":1,\"merchant_id\":\"m1\",\"amount\":\"10.00\",\"fee\":\"0.50\",\"vat\":\"0.05\",\"currency\":\"PKR\",\"channel\":\"wallet\",\"reference\":\"01a1dc81-2e80-777a-bb35-4b358982ebb4\",\"created_at\":\"2026-11-15T00:00:16Z\",\"updated_at\":\"2026-11-15T00:00:16Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:16Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}',1794700816000000,1794700816000000);
INSERT INTO flows VALUES(X'01a1dc81326872469dc3905c0032764b','delivery','m1','PENDING',1,0,'{"v":1,"flow":{"terms":{"event":"evt_01a1dc81326872469c4cada17bd9482b","kind":"payout.ready","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc81326872469c4cada17bd9482b\",\"source\":\"bursar\",\"type\":\"payout.ready\",\"subject\":\"po_01a1dc8132687dd19fc2dc5f4c9af557\",\"time\":\"2026-11-15T00:00:17Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":1,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payout\",\"id\":\"po_01a1dc8132687dd19fc2dc5f4c9af557\",\"status\":\"READY\",\"final\":false,\"version\":1,\"merchant_id\":\"m1\",\"amount\":\"10.00\",\"fee\":\"0.50\",\"vat\":\"0.05\",\"currency\":\"PKR\",\"channel\":\"wallet\",\"reference\":\"01a1dc81-3268-70ca-a1a9-dded48bf592b\",\"created_at\":\"2026-11-15T00:00:17Z\",\"updated_at\":\"2026-11-15T00:00:17Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:17Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}',1794700817000000,1794700817000000);
INSERT INTO flows VALUES(X'01a1dc8132687dd19fc2dc5f4c9af557','payout','m1','READY',1,1,'{"v":1,"flow":{"terms":{"funds":{"merchant":"m1","bank":"b1","currency":"PKR","amount":1000,"fee":50,"vat":5},"channel":"wallet","beneficiary":{"name":"A. Khan","msisdn":"923001234567"}},"attempts":[{"number":1,"reference":"01a1dc81-3268-70ca-a1a9-dded48bf592b","tries":0,"sent_by":null,"evidence":[]}],"state":{"ready":{"not_before":"2026-11-15T00:00:17Z"}},"hold_epoch":1}}',1794700817000000,1794700817000000);
INSERT INTO flows VALUES(X'01a1dc81365075c983e650732212b8d6','delivery','m1','PENDING',1,0,'{"v":1,"flow":{"terms":{"event":"evt_01a1dc81365075c9a5c352f2ebfcbeeb","kind":"payout.submitting","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc81365075c9a5c352f2ebfcbeeb\",\"source\":\"bursar\",\"type\":\"payout.submitting\",\"subject\":\"po_01a1dc812a9875258c9f45b4f9a1d6b2\",\"time\":\"2026-11-15T00:00:18Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":2,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payout\",\"id\":\"po_01a1dc812a9875258c9f45b4f9a1d6b2\",\"status\":\"SUBMITTING\",\"final\":false,\"version\":2,\"merchant_id\":\"m1\",\"amount\":\"10.00\",\"fee\":\"0.50\",\"vat\":\"0.05\",\"currency\":\"PKR\",\"channel\":\"wallet\",\"reference\":\"01a1dc81-2a98-78a6-a631-033df9b9cbd2\",\"created_at\":\"2026-11-15T00:00:15Z\",\"updated_at\":\"2026-11-15T00:00:18Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:18Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}',1794700818000000,1794700818000000);
INSERT INTO flows VALUES(X'01a1dc813a38725c9beca90d90fc4562','delivery','m1','PENDING',1,0,'{"v":1,"flow":{"terms":{"event":"evt_01a1dc813a38725ca7a1fab79b4d2da3","kind":"payout.success","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc813a38725ca7a1fab79b4d2da3\",\"source\":\"bursar\",\"type\":\"payout.success\",\"subject\":\"po_01a1dc812a9875258c9f45b4f9a1d6b2\",\"time\":\"2026-11-15T00:00:19Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":3,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payout\",\"id\":\"po_01a1dc812a9875258c9f45b4f9a1d6b2\",\"status\":\"SUCCESS\",\"final\":true,\"version\":3,\"merchant_id\":\"m1\",\"amount\":\"10.00\",\"fee\":\"0.50\",\"vat\":\"0.05\",\"currency\":\"PKR\",\"channel\":\"wallet\",\"reference\":\"01a1dc81-2a98-78a6-a631-033df9b9cbd2\",\"created_at\":\"2026-11-15T00:00:15Z\",\"updated_at\":\"2026-11-15T00:00:19Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:19Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}',1794700819000000,1794700819000000);
INSERT INTO flows VALUES(X'01a1dc813e2075cd83cf04e5881130ee','delivery','m1','PENDING',1,0,'{"v":1,"flow":{"terms":{"event":"evt_01a1dc813e2075cdabbe7bb54974879a","kind":"payout.ready","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc813e2075cdabbe7bb54974879a\",\"source\":\"bursar\",\"type\":\"payout.ready\",\"subject\":\"po_01a1dc813e207fe5a819aaaf1180ef01\",\"time\":\"2026-11-15T00:00:20Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":1,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payout\",\"id\":\"po_01a1dc813e207fe5a819aaaf1180ef01\",\"status\":\"READY\",\"final\":false,\"version\":1,\"merchant_id\":\"m1\",\"amount\":\"10.00\",\"fee\":\"0.50\",\"vat\":\"0.05\",\"currency\":\"PKR\",\"channel\":\"wallet\",\"reference\":\"01a1dc81-3e20-7e13-a6df-98a2d6071a13\",\"created_at\":\"2026-11-15T00:00:20Z\",\"updated_at\":\"2026-11-15T00:00:20Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:20Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}',1794700820000000,1794700820000000);
INSERT INTO flows VALUES(X'01a1dc813e207fe5a819aaaf1180ef01','payout','m1','CANCELLED',2,2,'{"v":1,"flow":{"terms":{"funds":{"merchant":"m1","bank":"b1","currency":"PKR","amount":1000,"fee":50,"vat":5},"channel":"wallet","beneficiary":{"name":"A. Khan","msisdn":"923001234567"}},"attempts":[{"number":1,"reference":"01a1dc81-3e20-7e13-a6df-98a2d6071a13","tries":0,"sent_by":null,"evidence":[]}],"state":"cancelled","hold_epoch":1,"released_by":"tx_01a1dc81420875b4b4f1a64fb9892b94"}}',1794700820000000,1794700821000000);
INSERT INTO flows VALUES(X'01a1dc8142087489bb53742d20308399','delivery','m1','PENDING',1,0,'{"v":1,"flow":{"terms":{"event":"evt_01a1dc814208748991431cba130df4dc","kind":"payout.cancelled","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc814208748991431cba130df4dc\",\"source\":\"bursar\",\"type\":\"payout.cancelled\",\"subject\":\"po_01a1dc813e207fe5a819aaaf1180ef01\",\"time\":\"2026-11-15T00:00:21Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":2,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payout\",\"id\":\"po_01a1dc813e207fe5a819aaaf1180ef01\",\"status\":\"CANCELLED\",\"final\":true,\"version\":2,\"merchant_id\":\"m1\",\"amount\":\"10.00\",\"fee\":\"0.50\",\"vat\":\"0.05\",\"currency\":\"PKR\",\"channel\":\"wallet\",\"reference\":\"01a1dc81-3e20-7e13-a6df-98a2d6071a13\",\"created_at\":\"2026-11-15T00:00:20Z\",\"updated_at\":\"2026-11-15T00:00:21Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:21Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}',1794700821000000,1794700821000000);
CREATE INDEX registry_by_merchant ON registry (kind, merchant, id);
COMMIT;
