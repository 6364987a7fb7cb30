PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE accounts (
    address TEXT NOT NULL,
    currency TEXT NOT NULL,
    balance INTEGER NOT NULL,
    version INTEGER NOT NULL,
    line INTEGER NOT NULL REFERENCES chart_lines (line),
    PRIMARY KEY (address, currency)
) STRICT, WITHOUT ROWID;
INSERT INTO "accounts" VALUES('assets:bank:b1:PKR','PKR',-1700,2,3);
INSERT INTO "accounts" VALUES('assets:bank:main:PKR','PKR',10000,1,3);
INSERT INTO "accounts" VALUES('expenses:adjustment:PKR','PKR',25000,1,1);
INSERT INTO "accounts" VALUES('holds:payout:m1:PKR','PKR',2865,9,4);
INSERT INTO "accounts" VALUES('liabilities:vat:PKR','PKR',10,2,5);
INSERT INTO "accounts" VALUES('merchants:m1:available:PKR','PKR',30325,9,2);
INSERT INTO "accounts" VALUES('revenue:payout:PKR','PKR',100,2,6);
CREATE TABLE attempts (
    channel TEXT NOT NULL,
    reference TEXT NOT NULL,
    flow BLOB NOT NULL,
    PRIMARY KEY (channel, reference)
) STRICT, WITHOUT ROWID;
INSERT INTO "attempts" VALUES('payin:easy','r0',X'01A1DC8126B0722C8EAFE314423A0E0D');
INSERT INTO "attempts" VALUES('payin:easy','r1',X'01A1DC811AF87D15AAA37D3468EE2DF3');
INSERT INTO "attempts" VALUES('wallet','01a1dc81-2a98-78a6-a631-033df9b9cbd2',X'01A1DC812A9875258C9F45B4F9A1D6B2');
INSERT INTO "attempts" VALUES('wallet','01a1dc81-2e80-777a-bb35-4b358982ebb4',X'01A1DC812E80798D8AA89BE74A4D07DB');
INSERT INTO "attempts" VALUES('wallet','01a1dc81-3268-70ca-a1a9-dded48bf592b',X'01A1DC8132687DD19FC2DC5F4C9AF557');
INSERT INTO "attempts" VALUES('wallet','01a1dc81-3e20-7e13-a6df-98a2d6071a13',X'01A1DC813E207FE5A819AAAF1180EF01');
INSERT INTO "attempts" VALUES('wallet','01a1dc81-5590-7d70-a632-3b8136c3adfd',X'01A1DC8155907EAA97892DE4B82456D8');
INSERT INTO "attempts" VALUES('wallet','01a1dc81-5978-70fb-a460-a0c3d4ee497a',X'01A1DC8155907EAA97892DE4B82456D8');
INSERT INTO "attempts" VALUES('wallet','01a1dc81-6148-7c2a-a8d6-466f875a0e13',X'01A1DC816148791389C3926556F3A32C');
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
INSERT INTO "audit" VALUES(X'01A1DC80F7D07CF69AA7D016291AA333',0,'ops','merchant.open','m1','',1794700802000000);
INSERT INTO "audit" VALUES(X'01A1DC80FBB8721384A77E822655EFB6',0,'ops','webhook_endpoint.add','we_01a1dc80f0007886b762036f91fff5ec','',1794700803000000);
INSERT INTO "audit" VALUES(X'01A1DC80FFA0763B8A3D559EE725EF76',0,'ops','webhook_endpoint.add','we_01a1dc80f0007874a386d5ec2fadb8a6','',1794700804000000);
INSERT INTO "audit" VALUES(X'01A1DC81038872199CFDB21894200B7F',0,'ops','webhook_endpoint.disable','we_01a1dc80f0007874a386d5ec2fadb8a6','',1794700805000000);
INSERT INTO "audit" VALUES(X'01A1DC8107707850AAB065F2FCF15EB0',0,'ops','beneficiary.add','ben_01a1dc8107707f84ba91ff5793259c82','',1794700806000000);
INSERT INTO "audit" VALUES(X'01A1DC810B587133BD6D929C97732CE8',0,'ops','key.issue','key_07070707070707070707070707070707','',1794700807000000);
INSERT INTO "audit" VALUES(X'01A1DC810F407DA19FDAC8268FC8B7CA',0,'ops','key.revoke','key_07070707070707070707070707070707','',1794700808000000);
INSERT INTO "audit" VALUES(X'01A1DC8126B076B1A09D8DAB71063AF6',0,'ops','payin.record','pi_01a1dc8126b0722c8eafe314423a0e0d','r0',1794700814000000);
INSERT INTO "audit" VALUES(X'01A1DC812E8070FCA07636E65A18391C',0,'ops','payout.create','po_01a1dc812e80798d8aa89be74a4d07db','',1794700816000000);
INSERT INTO "audit" VALUES(X'01A1DC8142087933A32622AA51E507BB',0,'m1','payout.cancel','po_01a1dc813e207fe5a819aaaf1180ef01','',1794700821000000);
INSERT INTO "audit" VALUES(X'01A1DC8145F076B090AF6AC2FCBBB382',0,'ops1','freeze','merchant:m9','a leak',1794700822000000);
INSERT INTO "audit" VALUES(X'01A1DC8149D87831AC141BA4062E0A53',0,'ops1','freeze','channel:bank','a leak',1794700823000000);
INSERT INTO "audit" VALUES(X'01A1DC814DC071ADA81BAF93ABC4D65B',0,'ops2','unfreeze.propose','channel:bank','mended',1794700824000000);
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
INSERT INTO "chart_lines" VALUES(1,5040,'Goodwill and corrections','expense','expenses:adjustment:{currency}','none','pnl');
INSERT INTO "chart_lines" VALUES(2,2004,'Merchant available','liability','merchants:{merchantId}:available:{currency}','T0','merchant');
INSERT INTO "chart_lines" VALUES(3,1000,'Settlement bank','asset','assets:bank:{bankId}:{currency}','T0','cash');
INSERT INTO "chart_lines" VALUES(4,2010,'Payout holds','liability','holds:payout:{merchantId}:{currency}','T0-T1','hold');
INSERT INTO "chart_lines" VALUES(5,2100,'VAT payable','liability','liabilities:vat:{currency}','T30','tax');
INSERT INTO "chart_lines" VALUES(6,4010,'Payout fees','revenue','revenue:payout:{currency}','none','pnl');
CREATE TABLE commits (
    seq INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    time INTEGER NOT NULL,
    hash BLOB NOT NULL
) STRICT;
INSERT INTO "commits" VALUES(1,X'01A1DC80F3E875FD98E04EAD0F5256E3',1794700801000000,X'A3064034FEFA6D5B1216ABAB46E1B789963E917414BB1F81025012EA2993D660');
INSERT INTO "commits" VALUES(2,X'01A1DC80F7D07CF69AA7D016291AA333',1794700802000000,X'1F9082199301A57A7933E0DBDA046F329A0771E63913A113F0A99FC31303FB1F');
INSERT INTO "commits" VALUES(3,X'01A1DC80FBB8721384A77E822655EFB6',1794700803000000,X'8F0E3D010D339F87A12292355865A10054E7ACA50B2EE167F93C4AFF4F8EE183');
INSERT INTO "commits" VALUES(4,X'01A1DC80FFA0763B8A3D559EE725EF76',1794700804000000,X'92F598405C790CFDEB77986C75446A829655FB35068C0D91303C3CC85F66D7EB');
INSERT INTO "commits" VALUES(5,X'01A1DC81038872199CFDB21894200B7F',1794700805000000,X'80071014D7424E42BF156877C77AB3D175CD08A2D3C57E22981159171E51A905');
INSERT INTO "commits" VALUES(6,X'01A1DC8107707850AAB065F2FCF15EB0',1794700806000000,X'C1D4E14F9F196FF7C05FC79940412DEF8A6044E45BAFD66C052B3443B5FA3471');
INSERT INTO "commits" VALUES(7,X'01A1DC810B587133BD6D929C97732CE8',1794700807000000,X'0F93518DA2E020E841BF08BFFCC44F74420F72210F6E731A1ED1DA0661427837');
INSERT INTO "commits" VALUES(8,X'01A1DC810F407DA19FDAC8268FC8B7CA',1794700808000000,X'59B32F7C934E24DFEEEAD281DC63A2B87A26DF3428620C04372B1D86DA254075');
INSERT INTO "commits" VALUES(9,X'01A1DC8113287C36959C34E476E94F69',1794700809000000,X'A9D6830829A1B5F0DA8F58C44AED84E549B426610BCF4877B81E7A9C00EBC6F1');
INSERT INTO "commits" VALUES(10,X'01A1DC8117107668AB34DCDCF77D5AB1',1794700810000000,X'2F3C80F36A6D833E14111ED78F5DCF3D842B716453C55086E0E9A33FDC85AE3E');
INSERT INTO "commits" VALUES(11,X'01A1DC811AF87C6986A20568279A7891',1794700811000000,X'DBD07AF3EF6D00C2DB088E56B55EFB606074334650E3D03E3D2B0772D93460A7');
INSERT INTO "commits" VALUES(12,X'01A1DC811EE072CA94A0191FF5C4531C',1794700812000000,X'8E8B0C358F26D02978BEE39AD98B29AE29962113D34736EB2D5CF4D5D15F5290');
INSERT INTO "commits" VALUES(13,X'01A1DC8122C87507A6E4B891DB573D63',1794700813000000,X'1E693E16CCCB24873F745D0DCF96F9A92A87CD1C269AB87A83F20DBEE9B15FEA');
INSERT INTO "commits" VALUES(14,X'01A1DC8126B076B1A09D8DAB71063AF6',1794700814000000,X'D83665E1C54165A89E11793AAE9655C7EA015C62FF7C7F7C13B5A93C45AF2B09');
INSERT INTO "commits" VALUES(15,X'01A1DC812A987303BBAA085FF683D784',1794700815000000,X'D0F58A09E23139DAC09B14B9C69C7DE0812F1404EF385D6AF81208821977749E');
INSERT INTO "commits" VALUES(16,X'01A1DC812E8070FCA07636E65A18391C',1794700816000000,X'0AE399260D4CF73ECBC457118397E7BFA15CA68C7B6AB0EE47BAE531DE5D8756');
INSERT INTO "commits" VALUES(17,X'01A1DC813268795EB204BC186A7FD832',1794700817000000,X'F2236B835466927700748EAAB492EE1E48402C205DFA5342AECB0793A3372664');
INSERT INTO "commits" VALUES(18,X'01A1DC81365077D9B622C85736486123',1794700818000000,X'E54DD3AA8F63ECA5FF57E8AFFE318AAE3DD2DFF9E9BE3E57F53757467AF7FE9B');
INSERT INTO "commits" VALUES(19,X'01A1DC813A387AFD84A8E99BEF2945D0',1794700819000000,X'10CDEF34DB2AE7388F08A01AE84BAD154AA37E7F257F907BC0ADB042B40647F0');
INSERT INTO "commits" VALUES(20,X'01A1DC813E207D6A99E8E5479BB8D626',1794700820000000,X'812B6095A262093AD75F7D26F25457D226337DEA02040398EDAB5C24342FD96E');
INSERT INTO "commits" VALUES(21,X'01A1DC8142087933A32622AA51E507BB',1794700821000000,X'E8D165945B8AC70931D97A9DB7F41457CAECA29A3C043D55D603EF044C62BFE0');
INSERT INTO "commits" VALUES(22,X'01A1DC8145F076B090AF6AC2FCBBB382',1794700822000000,X'38E10E765F8C2ADB9E865482E278B854CDEA1124AF0C4E4016F1D8910C50ABC7');
INSERT INTO "commits" VALUES(23,X'01A1DC8149D87831AC141BA4062E0A53',1794700823000000,X'EB822708EFD460F378247F1BC3ADF2F590F55BF311F42C4071829E950F7A7757');
INSERT INTO "commits" VALUES(24,X'01A1DC814DC071ADA81BAF93ABC4D65B',1794700824000000,X'8D146723143BB6EB08BD2EB3FB22EF9E1E60CD232A674C2A28126AD158380EFD');
INSERT INTO "commits" VALUES(25,X'01A1DC8151A8779A8B254CD309EED2C1',1794700825000000,X'585750E7B948B0164B7D9854C31C9C2EA8262090940959FD185575BABB5F07CF');
INSERT INTO "commits" VALUES(26,X'01A1DC815590784B87B82863E3BCF340',1794700826000000,X'561B121D45F4EF2999AF842012860A747FB01BE7344ADFA93EB1A24B8BAF4C75');
INSERT INTO "commits" VALUES(27,X'01A1DC8159787A5CB94C4B2F1FD050AC',1794700827000000,X'ECC32A042445529516AD06A457FB4902F0D3EFA83FD461CEE03221687695C13B');
INSERT INTO "commits" VALUES(28,X'01A1DC815D607EDCAE8830F0690C0BDE',1794700828000000,X'4A8ED475CA186A61C478CDA2B8D79637C916F241C4ADD6B46B8469FD37BAA4BC');
INSERT INTO "commits" VALUES(29,X'01A1DC81614877B38A1625CD9D521CF0',1794700829000000,X'136E14051B845A64A4B9EC4F9BC959B83385C8758BB7EC045B9BEF7E8DDAA072');
INSERT INTO "commits" VALUES(30,X'01A1DC81653073D59FB75A9371C612C9',1794700830000000,X'AF71950D66991C0C4C5AE14230514EFA47DE2B20330EA773D6D21AAE5AF1F3A1');
INSERT INTO "commits" VALUES(31,X'01A1DC8169187474A240C1AD97512840',1794700831000000,X'07E405609C0E2DAB7222428D2FDF48FD0862CD27238F6267E93BEB4DB387A2AC');
CREATE TABLE due (
    lane TEXT NOT NULL,
    due_at INTEGER NOT NULL,
    flow BLOB NOT NULL,
    PRIMARY KEY (lane, due_at, flow)
) STRICT, WITHOUT ROWID;
INSERT INTO "due" VALUES('payout',1794704428000000,X'01A1DC8155907EAA97892DE4B82456D8');
INSERT INTO "due" VALUES('submit:wallet',1794700816000000,X'01A1DC812E80798D8AA89BE74A4D07DB');
INSERT INTO "due" VALUES('submit:wallet',1794700817000000,X'01A1DC8132687DD19FC2DC5F4C9AF557');
INSERT INTO "due" VALUES('webhook-lease',1794700860000000,X'01A1DC811AF87EE49F1303C615816773');
INSERT INTO "due" VALUES('webhook:we_01a1dc80f0007886b762036f91fff5ec',1794700812000000,X'01A1DC811EE07E2888C797D08C71DD8F');
INSERT INTO "due" VALUES('webhook:we_01a1dc80f0007886b762036f91fff5ec',1794700813000000,X'01A1DC8122C8797AB19DD35DB0D93326');
INSERT INTO "due" VALUES('webhook:we_01a1dc80f0007886b762036f91fff5ec',1794700814000000,X'01A1DC8126B07593BEE1F1CFD87C7856');
INSERT INTO "due" VALUES('webhook:we_01a1dc80f0007886b762036f91fff5ec',1794700815000000,X'01A1DC812A987CEABDE30BBBA1CFC825');
INSERT INTO "due" VALUES('webhook:we_01a1dc80f0007886b762036f91fff5ec',1794700816000000,X'01A1DC812E807CB2B5E938CEBD76A12B');
INSERT INTO "due" VALUES('webhook:we_01a1dc80f0007886b762036f91fff5ec',1794700817000000,X'01A1DC81326872469DC3905C0032764B');
INSERT INTO "due" VALUES('webhook:we_01a1dc80f0007886b762036f91fff5ec',1794700818000000,X'01A1DC81365075C983E650732212B8D6');
INSERT INTO "due" VALUES('webhook:we_01a1dc80f0007886b762036f91fff5ec',1794700819000000,X'01A1DC813A38725C9BECA90D90FC4562');
INSERT INTO "due" VALUES('webhook:we_01a1dc80f0007886b762036f91fff5ec',1794700820000000,X'01A1DC813E2075CD83CF04E5881130EE');
INSERT INTO "due" VALUES('webhook:we_01a1dc80f0007886b762036f91fff5ec',1794700821000000,X'01A1DC8142087489BB53742D20308399');
INSERT INTO "due" VALUES('webhook:we_01a1dc80f0007886b762036f91fff5ec',1794700826000000,X'01A1DC8155907AEDA5A3BBBE528298DD');
INSERT INTO "due" VALUES('webhook:we_01a1dc80f0007886b762036f91fff5ec',1794700828000000,X'01A1DC815D607DE79A5216FC65757179');
INSERT INTO "due" VALUES('webhook:we_01a1dc80f0007886b762036f91fff5ec',1794700829000000,X'01A1DC8161487C00B81A895F484D6419');
INSERT INTO "due" VALUES('webhook:we_01a1dc80f0007886b762036f91fff5ec',1794700830000000,X'01A1DC8165307CF2B4C286E17A3841AA');
INSERT INTO "due" VALUES('webhook:we_01a1dc80f0007886b762036f91fff5ec',1794700831000000,X'01A1DC8169187D568B26E8031ADD2141');
CREATE TABLE entries (
    slice INTEGER NOT NULL,
    account TEXT NOT NULL,
    seq INTEGER NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (slice, account, seq, n)
) STRICT, WITHOUT ROWID;
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
INSERT INTO "events" VALUES(X'01A1DC8113287C36959C34E476E94F69',0,X'01A1DC8113287B7B83FD9DFACEF4C338','alert.raised','alert:stuck','',1,1794700809000000,'{"is_raised":true,"detail":"1 payout"}');
INSERT INTO "events" VALUES(X'01A1DC8117107668AB34DCDCF77D5AB1',0,X'01A1DC8117107BEDB17F64DB1ADC2B93','alert.cleared','alert:stuck','',2,1794700810000000,'{"is_raised":false,"detail":""}');
INSERT INTO "events" VALUES(X'01A1DC811AF87C6986A20568279A7891',0,X'01A1DC811AF87EE4AFDC30B6E839704C','payin.pending','pi_01a1dc811af87d15aaa37d3468ee2df3','m1',1,1794700811000000,'{"kind":"payin","id":"pi_01a1dc811af87d15aaa37d3468ee2df3","status":"PENDING","version":1,"merchant_id":"m1","provider":"easy","reference":"r1","amount":"100.00","net":"100.00","fee":"0.00","vat":"0.00","currency":"PKR","created_at":"2026-11-15T00:00:11Z","updated_at":"2026-11-15T00:00:11Z"}');
INSERT INTO "events" VALUES(X'01A1DC811EE072CA94A0191FF5C4531C',0,X'01A1DC811EE07E28B59E841195D42EC1','payin.success','pi_01a1dc811af87d15aaa37d3468ee2df3','m1',2,1794700812000000,'{"kind":"payin","id":"pi_01a1dc811af87d15aaa37d3468ee2df3","status":"COLLECTED","version":2,"merchant_id":"m1","provider":"easy","reference":"r1","amount":"100.00","net":"100.00","fee":"0.00","vat":"0.00","currency":"PKR","created_at":"2026-11-15T00:00:11Z","updated_at":"2026-11-15T00:00:12Z"}');
INSERT INTO "events" VALUES(X'01A1DC8122C87507A6E4B891DB573D63',0,X'01A1DC8122C8797AAF100485D4FB6A4D','payin.contradicted','pi_01a1dc811af87d15aaa37d3468ee2df3','m1',3,1794700813000000,'{"kind":"payin","id":"pi_01a1dc811af87d15aaa37d3468ee2df3","status":"CONTRADICTED","version":3,"merchant_id":"m1","provider":"easy","reference":"r1","amount":"100.00","net":"100.00","fee":"0.00","vat":"0.00","currency":"PKR","created_at":"2026-11-15T00:00:11Z","updated_at":"2026-11-15T00:00:13Z"}');
INSERT INTO "events" VALUES(X'01A1DC8126B076B1A09D8DAB71063AF6',0,X'01A1DC8126B07593A0E1CC8B01E30EB7','payin.pending','pi_01a1dc8126b0722c8eafe314423a0e0d','m1',1,1794700814000000,'{"kind":"payin","id":"pi_01a1dc8126b0722c8eafe314423a0e0d","status":"PENDING","version":1,"merchant_id":"m1","provider":"easy","reference":"r0","amount":"100.00","net":"100.00","fee":"0.00","vat":"0.00","currency":"PKR","created_at":"2026-11-15T00:00:14Z","updated_at":"2026-11-15T00:00:14Z"}');
INSERT INTO "events" VALUES(X'01A1DC812A987303BBAA085FF683D784',0,X'01A1DC812A987CEA80251C27E2DB4BF1','payout.ready','po_01a1dc812a9875258c9f45b4f9a1d6b2','m1',1,1794700815000000,'{"kind":"payout","id":"po_01a1dc812a9875258c9f45b4f9a1d6b2","status":"READY","final":false,"version":1,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-2a98-78a6-a631-033df9b9cbd2","created_at":"2026-11-15T00:00:15Z","updated_at":"2026-11-15T00:00:15Z"}');
INSERT INTO "events" VALUES(X'01A1DC812E8070FCA07636E65A18391C',0,X'01A1DC812E807CB29EE5B15DF61D699B','payout.ready','po_01a1dc812e80798d8aa89be74a4d07db','m1',1,1794700816000000,'{"kind":"payout","id":"po_01a1dc812e80798d8aa89be74a4d07db","status":"READY","final":false,"version":1,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-2e80-777a-bb35-4b358982ebb4","created_at":"2026-11-15T00:00:16Z","updated_at":"2026-11-15T00:00:16Z"}');
INSERT INTO "events" VALUES(X'01A1DC813268795EB204BC186A7FD832',0,X'01A1DC81326872469C4CADA17BD9482B','payout.ready','po_01a1dc8132687dd19fc2dc5f4c9af557','m1',1,1794700817000000,'{"kind":"payout","id":"po_01a1dc8132687dd19fc2dc5f4c9af557","status":"READY","final":false,"version":1,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-3268-70ca-a1a9-dded48bf592b","created_at":"2026-11-15T00:00:17Z","updated_at":"2026-11-15T00:00:17Z"}');
INSERT INTO "events" VALUES(X'01A1DC81365077D9B622C85736486123',0,X'01A1DC81365075C9A5C352F2EBFCBEEB','payout.submitting','po_01a1dc812a9875258c9f45b4f9a1d6b2','m1',2,1794700818000000,'{"kind":"payout","id":"po_01a1dc812a9875258c9f45b4f9a1d6b2","status":"SUBMITTING","final":false,"version":2,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-2a98-78a6-a631-033df9b9cbd2","created_at":"2026-11-15T00:00:15Z","updated_at":"2026-11-15T00:00:18Z"}');
INSERT INTO "events" VALUES(X'01A1DC813A387AFD84A8E99BEF2945D0',0,X'01A1DC813A38725CA7A1FAB79B4D2DA3','payout.success','po_01a1dc812a9875258c9f45b4f9a1d6b2','m1',3,1794700819000000,'{"kind":"payout","id":"po_01a1dc812a9875258c9f45b4f9a1d6b2","status":"SUCCESS","final":true,"version":3,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-2a98-78a6-a631-033df9b9cbd2","created_at":"2026-11-15T00:00:15Z","updated_at":"2026-11-15T00:00:19Z"}');
INSERT INTO "events" VALUES(X'01A1DC813E207D6A99E8E5479BB8D626',0,X'01A1DC813E2075CDABBE7BB54974879A','payout.ready','po_01a1dc813e207fe5a819aaaf1180ef01','m1',1,1794700820000000,'{"kind":"payout","id":"po_01a1dc813e207fe5a819aaaf1180ef01","status":"READY","final":false,"version":1,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-3e20-7e13-a6df-98a2d6071a13","created_at":"2026-11-15T00:00:20Z","updated_at":"2026-11-15T00:00:20Z"}');
INSERT INTO "events" VALUES(X'01A1DC8142087933A32622AA51E507BB',0,X'01A1DC814208748991431CBA130DF4DC','payout.cancelled','po_01a1dc813e207fe5a819aaaf1180ef01','m1',2,1794700821000000,'{"kind":"payout","id":"po_01a1dc813e207fe5a819aaaf1180ef01","status":"CANCELLED","final":true,"version":2,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-3e20-7e13-a6df-98a2d6071a13","created_at":"2026-11-15T00:00:20Z","updated_at":"2026-11-15T00:00:21Z"}');
INSERT INTO "events" VALUES(X'01A1DC815590784B87B82863E3BCF340',0,X'01A1DC8155907AEDA56A9FC7879CF13E','payout.ready','po_01a1dc8155907eaa97892de4b82456d8','m1',1,1794700826000000,'{"kind":"payout","id":"po_01a1dc8155907eaa97892de4b82456d8","status":"READY","final":false,"version":1,"merchant_id":"m1","amount":"7.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-5590-7d70-a632-3b8136c3adfd","trace_id":"trace-stuck","created_at":"2026-11-15T00:00:26Z","updated_at":"2026-11-15T00:00:26Z"}');
INSERT INTO "events" VALUES(X'01A1DC815D607EDCAE8830F0690C0BDE',0,X'01A1DC815D607DE7A7E46BA1FC78A4F2','payout.stuck','po_01a1dc8155907eaa97892de4b82456d8','m1',2,1794700828000000,'{"kind":"payout","id":"po_01a1dc8155907eaa97892de4b82456d8","status":"STUCK","final":false,"version":3,"merchant_id":"m1","amount":"7.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-5978-70fb-a460-a0c3d4ee497a","reason":"conflict","trace_id":"trace-stuck","created_at":"2026-11-15T00:00:26Z","updated_at":"2026-11-15T00:00:28Z"}');
INSERT INTO "events" VALUES(X'01A1DC81614877B38A1625CD9D521CF0',0,X'01A1DC8161487C00BAC62A0ADABF79C7','payout.ready','po_01a1dc816148791389c3926556f3a32c','m1',1,1794700829000000,'{"kind":"payout","id":"po_01a1dc816148791389c3926556f3a32c","status":"READY","final":false,"version":1,"merchant_id":"m1","amount":"7.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-6148-7c2a-a8d6-466f875a0e13","trace_id":"trace-case","created_at":"2026-11-15T00:00:29Z","updated_at":"2026-11-15T00:00:29Z"}');
INSERT INTO "events" VALUES(X'01A1DC81653073D59FB75A9371C612C9',0,X'01A1DC8165307CF28F7B647595210DDD','payout.success','po_01a1dc816148791389c3926556f3a32c','m1',2,1794700830000000,'{"kind":"payout","id":"po_01a1dc816148791389c3926556f3a32c","status":"SUCCESS","final":true,"version":2,"merchant_id":"m1","amount":"7.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-6148-7c2a-a8d6-466f875a0e13","trace_id":"trace-case","created_at":"2026-11-15T00:00:29Z","updated_at":"2026-11-15T00:00:30Z"}');
INSERT INTO "events" VALUES(X'01A1DC8169187474A240C1AD97512840',0,X'01A1DC8169187D56A9E172241F223844','payout.success','po_01a1dc816148791389c3926556f3a32c','m1',3,1794700831000000,'{"kind":"payout","id":"po_01a1dc816148791389c3926556f3a32c","status":"SUCCESS","final":true,"version":3,"merchant_id":"m1","amount":"7.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-6148-7c2a-a8d6-466f875a0e13","reason":"contradicted","trace_id":"trace-case","created_at":"2026-11-15T00:00:29Z","updated_at":"2026-11-15T00:00:31Z"}');
CREATE TABLE "flows" (
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
INSERT INTO "flows" VALUES(X'01A1DC811AF87D15AAA37D3468EE2DF3','payin','m1','CONTRADICTED',3,3,'{"v":1,"flow":{"terms":{"funds":{"merchant":"m1","bank":"main","currency":"PKR","amount":10000,"fee":0,"vat":0},"provider":"easy","reference":"r1"},"state":"contradicted","said":{"Completed":{"said":"completed","at":"2026-11-15T00:00:12Z"},"Failed":{"said":"failed","at":"2026-11-15T00:00:13Z"},"Pending":{"said":"pending","at":"2026-11-15T00:00:11Z"}}}}',1794700811000000,1794700813000000);
INSERT INTO "flows" VALUES(X'01A1DC811AF87EE49F1303C615816773','delivery','m1','DELIVERING',2,0,'{"v":1,"flow":{"terms":{"event":"evt_01a1dc811af87ee4afdc30b6e839704c","kind":"payin.pending","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc811af87ee4afdc30b6e839704c\",\"source\":\"bursar\",\"type\":\"payin.pending\",\"subject\":\"pi_01a1dc811af87d15aaa37d3468ee2df3\",\"time\":\"2026-11-15T00:00:11Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":1,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payin\",\"id\":\"pi_01a1dc811af87d15aaa37d3468ee2df3\",\"status\":\"PENDING\",\"version\":1,\"merchant_id\":\"m1\",\"provider\":\"easy\",\"reference\":\"r1\",\"amount\":\"100.00\",\"net\":\"100.00\",\"fee\":\"0.00\",\"vat\":\"0.00\",\"currency\":\"PKR\",\"created_at\":\"2026-11-15T00:00:11Z\",\"updated_at\":\"2026-11-15T00:00:11Z\"}}"},"state":{"delivering":{"since":"2026-11-15T00:00:25Z","lease_until":"2026-11-15T00:01:00Z"}},"attempts":1,"before":0,"is_replayed":false,"history":[]}}',1794700811000000,1794700825000000);
INSERT INTO "flows" VALUES(X'01A1DC811EE07E2888C797D08C71DD8F','delivery','m1','PENDING',1,0,'{"v":1,"flow":{"terms":{"event":"evt_01a1dc811ee07e28b59e841195d42ec1","kind":"payin.success","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc811ee07e28b59e841195d42ec1\",\"source\":\"bursar\",\"type\":\"payin.success\",\"subject\":\"pi_01a1dc811af87d15aaa37d3468ee2df3\",\"time\":\"2026-11-15T00:00:12Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":2,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payin\",\"id\":\"pi_01a1dc811af87d15aaa37d3468ee2df3\",\"status\":\"COLLECTED\",\"version\":2,\"merchant_id\":\"m1\",\"provider\":\"easy\",\"reference\":\"r1\",\"amount\":\"100.00\",\"net\":\"100.00\",\"fee\":\"0.00\",\"vat\":\"0.00\",\"currency\":\"PKR\",\"created_at\":\"2026-11-15T00:00:11Z\",\"updated_at\":\"2026-11-15T00:00:12Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:12Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}',1794700812000000,1794700812000000);
INSERT INTO "flows" VALUES(X'01A1DC8122C8797AB19DD35DB0D93326','delivery','m1','PENDING',1,0,'{"v":1,"flow":{"terms":{"event":"evt_01a1dc8122c8797aaf100485d4fb6a4d","kind":"payin.contradicted","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc8122c8797aaf100485d4fb6a4d\",\"source\":\"bursar\",\"type\":\"payin.contradicted\",\"subject\":\"pi_01a1dc811af87d15aaa37d3468ee2df3\",\"time\":\"2026-11-15T00:00:13Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":3,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payin\",\"id\":\"pi_01a1dc811af87d15aaa37d3468ee2df3\",\"status\":\"CONTRADICTED\",\"version\":3,\"merchant_id\":\"m1\",\"provider\":\"easy\",\"reference\":\"r1\",\"amount\":\"100.00\",\"net\":\"100.00\",\"fee\":\"0.00\",\"vat\":\"0.00\",\"currency\":\"PKR\",\"created_at\":\"2026-11-15T00:00:11Z\",\"updated_at\":\"2026-11-15T00:00:13Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:13Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}',1794700813000000,1794700813000000);
INSERT INTO "flows" VALUES(X'01A1DC8126B0722C8EAFE314423A0E0D','payin','m1','PENDING',1,1,'{"v":1,"flow":{"terms":{"funds":{"merchant":"m1","bank":"main","currency":"PKR","amount":10000,"fee":0,"vat":0},"provider":"easy","reference":"r0"},"state":"pending","said":{"Pending":{"said":"pending","at":"2026-11-15T00:00:14Z"}}}}',1794700814000000,1794700814000000);
INSERT INTO "flows" VALUES(X'01A1DC8126B07593BEE1F1CFD87C7856','delivery','m1','PENDING',1,0,'{"v":1,"flow":{"terms":{"event":"evt_01a1dc8126b07593a0e1cc8b01e30eb7","kind":"payin.pending","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc8126b07593a0e1cc8b01e30eb7\",\"source\":\"bursar\",\"type\":\"payin.pending\",\"subject\":\"pi_01a1dc8126b0722c8eafe314423a0e0d\",\"time\":\"2026-11-15T00:00:14Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":1,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payin\",\"id\":\"pi_01a1dc8126b0722c8eafe314423a0e0d\",\"status\":\"PENDING\",\"version\":1,\"merchant_id\":\"m1\",\"provider\":\"easy\",\"reference\":\"r0\",\"amount\":\"100.00\",\"net\":\"100.00\",\"fee\":\"0.00\",\"vat\":\"0.00\",\"currency\":\"PKR\",\"created_at\":\"2026-11-15T00:00:14Z\",\"updated_at\":\"2026-11-15T00:00:14Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:14Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}',1794700814000000,1794700814000000);
INSERT INTO "flows" VALUES(X'01A1DC812A9875258C9F45B4F9A1D6B2','payout','m1','SUCCESS',3,3,'{"v":1,"flow":{"terms":{"funds":{"merchant":"m1","bank":"b1","currency":"PKR","amount":1000,"fee":50,"vat":5},"channel":"wallet","beneficiary":{"name":"A. Khan","msisdn":"923001234567"}},"attempts":[{"number":1,"reference":"01a1dc81-2a98-78a6-a631-033df9b9cbd2","tries":1,"sent_by":"2026-11-15T00:01:33Z","ended":1,"evidence":[[{"source":"submission","verdict":"paid","provider_reference":"px-1"},"2026-11-15T00:00:19Z"]]}],"state":"success","settled":1,"hold_epoch":1}}',1794700815000000,1794700819000000);
INSERT INTO "flows" VALUES(X'01A1DC812A987CEABDE30BBBA1CFC825','delivery','m1','PENDING',1,0,'{"v":1,"flow":{"terms":{"event":"evt_01a1dc812a987cea80251c27e2db4bf1","kind":"payout.ready","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc812a987cea80251c27e2db4bf1\",\"source\":\"bursar\",\"type\":\"payout.ready\",\"subject\":\"po_01a1dc812a9875258c9f45b4f9a1d6b2\",\"time\":\"2026-11-15T00:00:15Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":1,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payout\",\"id\":\"po_01a1dc812a9875258c9f45b4f9a1d6b2\",\"status\":\"READY\",\"final\":false,\"version\":1,\"merchant_id\":\"m1\",\"amount\":\"10.00\",\"fee\":\"0.50\",\"vat\":\"0.05\",\"currency\":\"PKR\",\"channel\":\"wallet\",\"reference\":\"01a1dc81-2a98-78a6-a631-033df9b9cbd2\",\"created_at\":\"2026-11-15T00:00:15Z\",\"updated_at\":\"2026-11-15T00:00:15Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:15Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}',1794700815000000,1794700815000000);
INSERT INTO "flows" VALUES(X'01A1DC812E80798D8AA89BE74A4D07DB','payout','m1','READY',1,1,'{"v":1,"flow":{"terms":{"funds":{"merchant":"m1","bank":"b1","currency":"PKR","amount":1000,"fee":50,"vat":5},"channel":"wallet","beneficiary":{"name":"A. Khan","msisdn":"923001234567"}},"attempts":[{"number":1,"reference":"01a1dc81-2e80-777a-bb35-4b358982ebb4","tries":0,"sent_by":null,"evidence":[]}],"state":{"ready":{"not_before":"2026-11-15T00:00:16Z"}},"hold_epoch":1}}',1794700816000000,1794700816000000);
INSERT INTO "flows" VALUES(X'01A1DC812E807CB2B5E938CEBD76A12B','delivery','m1','PENDING',1,0,'{"v":1,"flow":{"terms":{"event":"evt_01a1dc812e807cb29ee5b15df61d699b","kind":"payout.ready","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc812e807cb29ee5b15df61d699b\",\"source\":\"bursar\",\"type\":\"payout.ready\",\"subject\":\"po_01a1dc812e80798d8aa89be74a4d07db\",\"time\":\"2026-11-15T00:00:16Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":1,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payout\",\"id\":\"po_01a1dc812e80798d8aa89be74a4d07db\",\"status\":\"READY\",\"final\":false,\"version\":1,\"merchant_id\":\"m1\",\"amount\":\"10.00\",\"fee\":\"0.50\",\"vat\":\"0.05\",\"currency\":\"PKR\",\"channel\":\"wallet\",\"reference\":\"01a1dc81-2e80-777a-bb35-4b358982ebb4\",\"created_at\":\"2026-11-15T00:00:16Z\",\"updated_at\":\"2026-11-15T00:00:16Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:16Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}',1794700816000000,1794700816000000);
INSERT INTO "flows" VALUES(X'01A1DC81326872469DC3905C0032764B','delivery','m1','PENDING',1,0,'{"v":1,"flow":{"terms":{"event":"evt_01a1dc81326872469c4cada17bd9482b","kind":"payout.ready","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc81326872469c4cada17bd9482b\",\"source\":\"bursar\",\"type\":\"payout.ready\",\"subject\":\"po_01a1dc8132687dd19fc2dc5f4c9af557\",\"time\":\"2026-11-15T00:00:17Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":1,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payout\",\"id\":\"po_01a1dc8132687dd19fc2dc5f4c9af557\",\"status\":\"READY\",\"final\":false,\"version\":1,\"merchant_id\":\"m1\",\"amount\":\"10.00\",\"fee\":\"0.50\",\"vat\":\"0.05\",\"currency\":\"PKR\",\"channel\":\"wallet\",\"reference\":\"01a1dc81-3268-70ca-a1a9-dded48bf592b\",\"created_at\":\"2026-11-15T00:00:17Z\",\"updated_at\":\"2026-11-15T00:00:17Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:17Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}',1794700817000000,1794700817000000);
INSERT INTO "flows" VALUES(X'01A1DC8132687DD19FC2DC5F4C9AF557','payout','m1','READY',1,1,'{"v":1,"flow":{"terms":{"funds":{"merchant":"m1","bank":"b1","currency":"PKR","amount":1000,"fee":50,"vat":5},"channel":"wallet","beneficiary":{"name":"A. Khan","msisdn":"923001234567"}},"attempts":[{"number":1,"reference":"01a1dc81-3268-70ca-a1a9-dded48bf592b","tries":0,"sent_by":null,"evidence":[]}],"state":{"ready":{"not_before":"2026-11-15T00:00:17Z"}},"hold_epoch":1}}',1794700817000000,1794700817000000);
INSERT INTO "flows" VALUES(X'01A1DC81365075C983E650732212B8D6','delivery','m1','PENDING',1,0,'{"v":1,"flow":{"terms":{"event":"evt_01a1dc81365075c9a5c352f2ebfcbeeb","kind":"payout.submitting","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc81365075c9a5c352f2ebfcbeeb\",\"source\":\"bursar\",\"type\":\"payout.submitting\",\"subject\":\"po_01a1dc812a9875258c9f45b4f9a1d6b2\",\"time\":\"2026-11-15T00:00:18Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":2,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payout\",\"id\":\"po_01a1dc812a9875258c9f45b4f9a1d6b2\",\"status\":\"SUBMITTING\",\"final\":false,\"version\":2,\"merchant_id\":\"m1\",\"amount\":\"10.00\",\"fee\":\"0.50\",\"vat\":\"0.05\",\"currency\":\"PKR\",\"channel\":\"wallet\",\"reference\":\"01a1dc81-2a98-78a6-a631-033df9b9cbd2\",\"created_at\":\"2026-11-15T00:00:15Z\",\"updated_at\":\"2026-11-15T00:00:18Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:18Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}',1794700818000000,1794700818000000);
INSERT INTO "flows" VALUES(X'01A1DC813A38725C9BECA90D90FC4562','delivery','m1','PENDING',1,0,'{"v":1,"flow":{"terms":{"event":"evt_01a1dc813a38725ca7a1fab79b4d2da3","kind":"payout.success","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc813a38725ca7a1fab79b4d2da3\",\"source\":\"bursar\",\"type\":\"payout.success\",\"subject\":\"po_01a1dc812a9875258c9f45b4f9a1d6b2\",\"time\":\"2026-11-15T00:00:19Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":3,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payout\",\"id\":\"po_01a1dc812a9875258c9f45b4f9a1d6b2\",\"status\":\"SUCCESS\",\"final\":true,\"version\":3,\"merchant_id\":\"m1\",\"amount\":\"10.00\",\"fee\":\"0.50\",\"vat\":\"0.05\",\"currency\":\"PKR\",\"channel\":\"wallet\",\"reference\":\"01a1dc81-2a98-78a6-a631-033df9b9cbd2\",\"created_at\":\"2026-11-15T00:00:15Z\",\"updated_at\":\"2026-11-15T00:00:19Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:19Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}',1794700819000000,1794700819000000);
INSERT INTO "flows" VALUES(X'01A1DC813E2075CD83CF04E5881130EE','delivery','m1','PENDING',1,0,'{"v":1,"flow":{"terms":{"event":"evt_01a1dc813e2075cdabbe7bb54974879a","kind":"payout.ready","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc813e2075cdabbe7bb54974879a\",\"source\":\"bursar\",\"type\":\"payout.ready\",\"subject\":\"po_01a1dc813e207fe5a819aaaf1180ef01\",\"time\":\"2026-11-15T00:00:20Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":1,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payout\",\"id\":\"po_01a1dc813e207fe5a819aaaf1180ef01\",\"status\":\"READY\",\"final\":false,\"version\":1,\"merchant_id\":\"m1\",\"amount\":\"10.00\",\"fee\":\"0.50\",\"vat\":\"0.05\",\"currency\":\"PKR\",\"channel\":\"wallet\",\"reference\":\"01a1dc81-3e20-7e13-a6df-98a2d6071a13\",\"created_at\":\"2026-11-15T00:00:20Z\",\"updated_at\":\"2026-11-15T00:00:20Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:20Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}',1794700820000000,1794700820000000);
INSERT INTO "flows" VALUES(X'01A1DC813E207FE5A819AAAF1180EF01','payout','m1','CANCELLED',2,2,'{"v":1,"flow":{"terms":{"funds":{"merchant":"m1","bank":"b1","currency":"PKR","amount":1000,"fee":50,"vat":5},"channel":"wallet","beneficiary":{"name":"A. Khan","msisdn":"923001234567"}},"attempts":[{"number":1,"reference":"01a1dc81-3e20-7e13-a6df-98a2d6071a13","tries":0,"sent_by":null,"evidence":[]}],"state":"cancelled","hold_epoch":1,"released_by":"tx_01a1dc81420875b4b4f1a64fb9892b94"}}',1794700820000000,1794700821000000);
INSERT INTO "flows" VALUES(X'01A1DC8142087489BB53742D20308399','delivery','m1','PENDING',1,0,'{"v":1,"flow":{"terms":{"event":"evt_01a1dc814208748991431cba130df4dc","kind":"payout.cancelled","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc814208748991431cba130df4dc\",\"source\":\"bursar\",\"type\":\"payout.cancelled\",\"subject\":\"po_01a1dc813e207fe5a819aaaf1180ef01\",\"time\":\"2026-11-15T00:00:21Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":2,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payout\",\"id\":\"po_01a1dc813e207fe5a819aaaf1180ef01\",\"status\":\"CANCELLED\",\"final\":true,\"version\":2,\"merchant_id\":\"m1\",\"amount\":\"10.00\",\"fee\":\"0.50\",\"vat\":\"0.05\",\"currency\":\"PKR\",\"channel\":\"wallet\",\"reference\":\"01a1dc81-3e20-7e13-a6df-98a2d6071a13\",\"created_at\":\"2026-11-15T00:00:20Z\",\"updated_at\":\"2026-11-15T00:00:21Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:21Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}',1794700821000000,1794700821000000);
INSERT INTO "flows" VALUES(X'01A1DC8155907AEDA5A3BBBE528298DD','delivery','m1','PENDING',1,0,'{"v":1,"flow":{"terms":{"event":"evt_01a1dc8155907aeda56a9fc7879cf13e","kind":"payout.ready","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc8155907aeda56a9fc7879cf13e\",\"source\":\"bursar\",\"type\":\"payout.ready\",\"subject\":\"po_01a1dc8155907eaa97892de4b82456d8\",\"time\":\"2026-11-15T00:00:26Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":1,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payout\",\"id\":\"po_01a1dc8155907eaa97892de4b82456d8\",\"status\":\"READY\",\"final\":false,\"version\":1,\"merchant_id\":\"m1\",\"amount\":\"7.00\",\"fee\":\"0.50\",\"vat\":\"0.05\",\"currency\":\"PKR\",\"channel\":\"wallet\",\"reference\":\"01a1dc81-5590-7d70-a632-3b8136c3adfd\",\"trace_id\":\"trace-stuck\",\"created_at\":\"2026-11-15T00:00:26Z\",\"updated_at\":\"2026-11-15T00:00:26Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:26Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}',1794700826000000,1794700826000000);
INSERT INTO "flows" VALUES(X'01A1DC8155907EAA97892DE4B82456D8','payout','m1','STUCK',3,2,'{"v":1,"flow":{"terms":{"funds":{"merchant":"m1","bank":"b1","currency":"PKR","amount":700,"fee":50,"vat":5},"channel":"wallet","beneficiary":{"name":"A. Khan","msisdn":"923001234567"},"remarks":{"trace_id":"trace-stuck"}},"attempts":[{"number":1,"reference":"01a1dc81-5590-7d70-a632-3b8136c3adfd","tries":0,"sent_by":null,"evidence":[[{"source":"callback","verdict":"paid","provider_reference":"P-1"},"2026-11-15T00:00:28Z"],[{"source":"callback","verdict":{"not_paid":{"is_retryable":true}},"provider_reference":"P-1"},"2026-11-15T00:00:27Z"]]},{"number":2,"reference":"01a1dc81-5978-70fb-a460-a0c3d4ee497a","tries":0,"sent_by":null,"evidence":[]}],"state":{"stuck":{"reason":"conflict","wait":{"until":"2026-11-15T01:00:28Z"}}},"hold_epoch":1}}',1794700826000000,1794700828000000);
INSERT INTO "flows" VALUES(X'01A1DC815D607DE79A5216FC65757179','delivery','m1','PENDING',1,0,'{"v":1,"flow":{"terms":{"event":"evt_01a1dc815d607de7a7e46ba1fc78a4f2","kind":"payout.stuck","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc815d607de7a7e46ba1fc78a4f2\",\"source\":\"bursar\",\"type\":\"payout.stuck\",\"subject\":\"po_01a1dc8155907eaa97892de4b82456d8\",\"time\":\"2026-11-15T00:00:28Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":2,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payout\",\"id\":\"po_01a1dc8155907eaa97892de4b82456d8\",\"status\":\"STUCK\",\"final\":false,\"version\":3,\"merchant_id\":\"m1\",\"amount\":\"7.00\",\"fee\":\"0.50\",\"vat\":\"0.05\",\"currency\":\"PKR\",\"channel\":\"wallet\",\"reference\":\"01a1dc81-5978-70fb-a460-a0c3d4ee497a\",\"reason\":\"conflict\",\"trace_id\":\"trace-stuck\",\"created_at\":\"2026-11-15T00:00:26Z\",\"updated_at\":\"2026-11-15T00:00:28Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:28Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}',1794700828000000,1794700828000000);
INSERT INTO "flows" VALUES(X'01A1DC816148791389C3926556F3A32C','payout','m1','SUCCESS',3,3,'{"v":1,"flow":{"terms":{"funds":{"merchant":"m1","bank":"b1","currency":"PKR","amount":700,"fee":50,"vat":5},"channel":"wallet","beneficiary":{"name":"A. Khan","msisdn":"923001234567"},"remarks":{"trace_id":"trace-case"}},"attempts":[{"number":1,"reference":"01a1dc81-6148-7c2a-a8d6-466f875a0e13","tries":0,"sent_by":null,"evidence":[[{"source":"callback","verdict":"paid","provider_reference":"P-1"},"2026-11-15T00:00:30Z"],[{"source":"callback","verdict":{"not_paid":{"is_retryable":false}},"provider_reference":"P-1"},"2026-11-15T00:00:31Z"]]}],"state":"success","settled":1,"case":"contradicted","hold_epoch":1}}',1794700829000000,1794700831000000);
INSERT INTO "flows" VALUES(X'01A1DC8161487C00B81A895F484D6419','delivery','m1','PENDING',1,0,'{"v":1,"flow":{"terms":{"event":"evt_01a1dc8161487c00bac62a0adabf79c7","kind":"payout.ready","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc8161487c00bac62a0adabf79c7\",\"source\":\"bursar\",\"type\":\"payout.ready\",\"subject\":\"po_01a1dc816148791389c3926556f3a32c\",\"time\":\"2026-11-15T00:00:29Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":1,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payout\",\"id\":\"po_01a1dc816148791389c3926556f3a32c\",\"status\":\"READY\",\"final\":false,\"version\":1,\"merchant_id\":\"m1\",\"amount\":\"7.00\",\"fee\":\"0.50\",\"vat\":\"0.05\",\"currency\":\"PKR\",\"channel\":\"wallet\",\"reference\":\"01a1dc81-6148-7c2a-a8d6-466f875a0e13\",\"trace_id\":\"trace-case\",\"created_at\":\"2026-11-15T00:00:29Z\",\"updated_at\":\"2026-11-15T00:00:29Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:29Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}',1794700829000000,1794700829000000);
INSERT INTO "flows" VALUES(X'01A1DC8165307CF2B4C286E17A3841AA','delivery','m1','PENDING',1,0,'{"v":1,"flow":{"terms":{"event":"evt_01a1dc8165307cf28f7b647595210ddd","kind":"payout.success","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc8165307cf28f7b647595210ddd\",\"source\":\"bursar\",\"type\":\"payout.success\",\"subject\":\"po_01a1dc816148791389c3926556f3a32c\",\"time\":\"2026-11-15T00:00:30Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":2,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payout\",\"id\":\"po_01a1dc816148791389c3926556f3a32c\",\"status\":\"SUCCESS\",\"final\":true,\"version\":2,\"merchant_id\":\"m1\",\"amount\":\"7.00\",\"fee\":\"0.50\",\"vat\":\"0.05\",\"currency\":\"PKR\",\"channel\":\"wallet\",\"reference\":\"01a1dc81-6148-7c2a-a8d6-466f875a0e13\",\"trace_id\":\"trace-case\",\"created_at\":\"2026-11-15T00:00:29Z\",\"updated_at\":\"2026-11-15T00:00:30Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:30Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}',1794700830000000,1794700830000000);
INSERT INTO "flows" VALUES(X'01A1DC8169187D568B26E8031ADD2141','delivery','m1','PENDING',1,0,'{"v":1,"flow":{"terms":{"event":"evt_01a1dc8169187d56a9e172241f223844","kind":"payout.success","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc8169187d56a9e172241f223844\",\"source\":\"bursar\",\"type\":\"payout.success\",\"subject\":\"po_01a1dc816148791389c3926556f3a32c\",\"time\":\"2026-11-15T00:00:31Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":3,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payout\",\"id\":\"po_01a1dc816148791389c3926556f3a32c\",\"status\":\"SUCCESS\",\"final\":true,\"version\":3,\"merchant_id\":\"m1\",\"amount\":\"7.00\",\"fee\":\"0.50\",\"vat\":\"0.05\",\"currency\":\"PKR\",\"channel\":\"wallet\",\"reference\":\"01a1dc81-6148-7c2a-a8d6-466f875a0e13\",\"reason\":\"contradicted\",\"trace_id\":\"trace-case\",\"created_at\":\"2026-11-15T00:00:29Z\",\"updated_at\":\"2026-11-15T00:00:31Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:31Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}',1794700831000000,1794700831000000);
CREATE TABLE freezes (
    scope TEXT PRIMARY KEY,
    details TEXT NOT NULL
) STRICT;
INSERT INTO "freezes" VALUES('{"channel":"bank"}','{"reason":"a leak","actor":"ops1","since":"2026-11-15T00:00:23Z","lifted_by":{"actor":"ops2","is_approver":true}}');
INSERT INTO "freezes" VALUES('{"merchant":"m9"}','{"reason":"a leak","actor":"ops1","since":"2026-11-15T00:00:22Z"}');
CREATE TABLE head (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    seq INTEGER NOT NULL,
    time INTEGER,
    hash BLOB NOT NULL
, control_version INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "head" VALUES(1,31,1794700831000000,X'07E405609C0E2DAB7222428D2FDF48FD0862CD27238F6267E93BEB4DB387A2AC',3);
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
INSERT INTO "holds" VALUES(2010,'po_01a1dc812a9875258c9f45b4f9a1d6b2','holds:payout:m1:PKR','PKR',1055,1,X'01A1DC813A3877129E6650FDC80B53B4');
INSERT INTO "holds" VALUES(2010,'po_01a1dc812e80798d8aa89be74a4d07db','holds:payout:m1:PKR','PKR',1055,1,NULL);
INSERT INTO "holds" VALUES(2010,'po_01a1dc8132687dd19fc2dc5f4c9af557','holds:payout:m1:PKR','PKR',1055,1,NULL);
INSERT INTO "holds" VALUES(2010,'po_01a1dc813e207fe5a819aaaf1180ef01','holds:payout:m1:PKR','PKR',1055,1,X'01A1DC81420875B4B4F1A64FB9892B94');
INSERT INTO "holds" VALUES(2010,'po_01a1dc8155907eaa97892de4b82456d8','holds:payout:m1:PKR','PKR',755,1,NULL);
INSERT INTO "holds" VALUES(2010,'po_01a1dc816148791389c3926556f3a32c','holds:payout:m1:PKR','PKR',755,1,X'01A1DC8165307524BE435965C1CB3281');
CREATE TABLE keys (
    digest BLOB NOT NULL UNIQUE,
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    request_hash BLOB NOT NULL,
    flow BLOB NOT NULL,
    reply TEXT NOT NULL
) STRICT;
INSERT INTO "keys" VALUES(X'D052BF662A9E8FFA28653FF0901667E7','m1','one',X'8F667F1840748D1562691AA777BD1E14021AAA09F3FA1B46753B8BCE27DF23A4',X'01A1DC812A9875258C9F45B4F9A1D6B2','{"kind":"payout","id":"po_01a1dc812a9875258c9f45b4f9a1d6b2","status":"READY","final":false,"version":1,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-2a98-78a6-a631-033df9b9cbd2","created_at":"2026-11-15T00:00:15Z","updated_at":"2026-11-15T00:00:15Z"}');
INSERT INTO "keys" VALUES(X'B5036FE2DBFE4EC7CF2A7126529F4B33','m1','two',X'8F667F1840748D1562691AA777BD1E14021AAA09F3FA1B46753B8BCE27DF23A4',X'01A1DC812E80798D8AA89BE74A4D07DB','{"kind":"payout","id":"po_01a1dc812e80798d8aa89be74a4d07db","status":"READY","final":false,"version":1,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-2e80-777a-bb35-4b358982ebb4","created_at":"2026-11-15T00:00:16Z","updated_at":"2026-11-15T00:00:16Z"}');
INSERT INTO "keys" VALUES(X'F89072386DC21C80C2EC0E1A68999C60','m1','three',X'8F667F1840748D1562691AA777BD1E14021AAA09F3FA1B46753B8BCE27DF23A4',X'01A1DC8132687DD19FC2DC5F4C9AF557','{"kind":"payout","id":"po_01a1dc8132687dd19fc2dc5f4c9af557","status":"READY","final":false,"version":1,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-3268-70ca-a1a9-dded48bf592b","created_at":"2026-11-15T00:00:17Z","updated_at":"2026-11-15T00:00:17Z"}');
INSERT INTO "keys" VALUES(X'72316DF06D3DE8123D43C26123A26B4D','m1','four',X'8F667F1840748D1562691AA777BD1E14021AAA09F3FA1B46753B8BCE27DF23A4',X'01A1DC813E207FE5A819AAAF1180EF01','{"kind":"payout","id":"po_01a1dc813e207fe5a819aaaf1180ef01","status":"READY","final":false,"version":1,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-3e20-7e13-a6df-98a2d6071a13","created_at":"2026-11-15T00:00:20Z","updated_at":"2026-11-15T00:00:20Z"}');
INSERT INTO "keys" VALUES(X'C7BC63DB43F304D17B5168292D5344B6','m1','five',X'CBBEC005B4B62CAD567F351887BA9693F1D7A3C7C7FE7FF1151631AA55FE43BA',X'01A1DC813E207FE5A819AAAF1180EF01','{"kind":"payout","id":"po_01a1dc813e207fe5a819aaaf1180ef01","status":"CANCELLED","final":true,"version":2,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-3e20-7e13-a6df-98a2d6071a13","created_at":"2026-11-15T00:00:20Z","updated_at":"2026-11-15T00:00:21Z"}');
INSERT INTO "keys" VALUES(X'5BF5FBAF3A8246E35DFFCE404D05E076','m1','stuck',X'E7A4D6F5CFDAB2C1675D66B619A412379147C7FD6FA676FD7C34CEB5BFCD62EF',X'01A1DC8155907EAA97892DE4B82456D8','{"kind":"payout","id":"po_01a1dc8155907eaa97892de4b82456d8","status":"READY","final":false,"version":1,"merchant_id":"m1","amount":"7.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-5590-7d70-a632-3b8136c3adfd","trace_id":"trace-stuck","created_at":"2026-11-15T00:00:26Z","updated_at":"2026-11-15T00:00:26Z"}');
INSERT INTO "keys" VALUES(X'860ED5FBACBE076E6FD1C89A4FD59E0A','m1','case',X'60FA1458A31775AE189BE7DB2BEBD2BF5BCD23E93B18B4C5DF7620EA7549012C',X'01A1DC816148791389C3926556F3A32C','{"kind":"payout","id":"po_01a1dc816148791389c3926556f3a32c","status":"READY","final":false,"version":1,"merchant_id":"m1","amount":"7.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-6148-7c2a-a8d6-466f875a0e13","trace_id":"trace-case","created_at":"2026-11-15T00:00:29Z","updated_at":"2026-11-15T00:00:29Z"}');
CREATE TABLE postings (
    tx BLOB NOT NULL,
    n INTEGER NOT NULL,
    source TEXT NOT NULL,
    destination TEXT NOT NULL,
    currency TEXT NOT NULL,
    amount INTEGER NOT NULL CHECK (amount > 0),
    PRIMARY KEY (tx, n)
) STRICT, WITHOUT ROWID;
INSERT INTO "postings" VALUES(X'01A1DC80F3E879BBA66242757A956F1C',0,'world','expenses:adjustment:PKR','PKR',25000);
INSERT INTO "postings" VALUES(X'01A1DC80F3E879BBA66242757A956F1C',1,'world','merchants:m1:available:PKR','PKR',25000);
INSERT INTO "postings" VALUES(X'01A1DC811EE076B89A77ECECEE89AD66',0,'world','assets:bank:main:PKR','PKR',10000);
INSERT INTO "postings" VALUES(X'01A1DC811EE076B89A77ECECEE89AD66',1,'world','merchants:m1:available:PKR','PKR',10000);
INSERT INTO "postings" VALUES(X'01A1DC812A9872B2A4F7480BD92AD0DC',0,'merchants:m1:available:PKR','holds:payout:m1:PKR','PKR',1055);
INSERT INTO "postings" VALUES(X'01A1DC812E807E54A8F7BE9C486F9F3E',0,'merchants:m1:available:PKR','holds:payout:m1:PKR','PKR',1055);
INSERT INTO "postings" VALUES(X'01A1DC81326875F59A4985071F5866F8',0,'merchants:m1:available:PKR','holds:payout:m1:PKR','PKR',1055);
INSERT INTO "postings" VALUES(X'01A1DC813A3877129E6650FDC80B53B4',0,'holds:payout:m1:PKR','world','PKR',1000);
INSERT INTO "postings" VALUES(X'01A1DC813A3877129E6650FDC80B53B4',1,'assets:bank:b1:PKR','world','PKR',1000);
INSERT INTO "postings" VALUES(X'01A1DC813A3877129E6650FDC80B53B4',2,'holds:payout:m1:PKR','revenue:payout:PKR','PKR',50);
INSERT INTO "postings" VALUES(X'01A1DC813A3877129E6650FDC80B53B4',3,'holds:payout:m1:PKR','liabilities:vat:PKR','PKR',5);
INSERT INTO "postings" VALUES(X'01A1DC813E207C66B8DF02701D289026',0,'merchants:m1:available:PKR','holds:payout:m1:PKR','PKR',1055);
INSERT INTO "postings" VALUES(X'01A1DC81420875B4B4F1A64FB9892B94',0,'holds:payout:m1:PKR','merchants:m1:available:PKR','PKR',1055);
INSERT INTO "postings" VALUES(X'01A1DC8155907F3DACD3101E5A5EF6F2',0,'merchants:m1:available:PKR','holds:payout:m1:PKR','PKR',755);
INSERT INTO "postings" VALUES(X'01A1DC8161487F23876352ED00D3468D',0,'merchants:m1:available:PKR','holds:payout:m1:PKR','PKR',755);
INSERT INTO "postings" VALUES(X'01A1DC8165307524BE435965C1CB3281',0,'holds:payout:m1:PKR','world','PKR',700);
INSERT INTO "postings" VALUES(X'01A1DC8165307524BE435965C1CB3281',1,'assets:bank:b1:PKR','world','PKR',700);
INSERT INTO "postings" VALUES(X'01A1DC8165307524BE435965C1CB3281',2,'holds:payout:m1:PKR','revenue:payout:PKR','PKR',50);
INSERT INTO "postings" VALUES(X'01A1DC8165307524BE435965C1CB3281',3,'holds:payout:m1:PKR','liabilities:vat:PKR','PKR',5);
CREATE TABLE refinery_schema_history(
             version int4 PRIMARY KEY,
             name VARCHAR(255),
             applied_on VARCHAR(255),
             checksum VARCHAR(255));
INSERT INTO "refinery_schema_history" VALUES(1,'ledger','2026-11-18T03:38:49.276518349Z','17788859023771276416');
INSERT INTO "refinery_schema_history" VALUES(2,'flows','2026-11-18T03:38:49.276534633Z','15762217163717635274');
INSERT INTO "refinery_schema_history" VALUES(3,'postings_by_account','2026-11-18T03:38:49.276537167Z','15680736774365864946');
INSERT INTO "refinery_schema_history" VALUES(4,'control','2026-11-18T03:38:49.27653929Z','5087109002803131012');
INSERT INTO "refinery_schema_history" VALUES(5,'registry','2026-11-18T03:38:49.276540963Z','1234903819253855882');
INSERT INTO "refinery_schema_history" VALUES(6,'entries','2026-11-18T03:38:49.276542766Z','13814418641096529022');
INSERT INTO "refinery_schema_history" VALUES(7,'sleeping','2026-11-18T03:38:49.276544428Z','3789395333657066680');
INSERT INTO "refinery_schema_history" VALUES(8,'flows_by_row','2026-11-18T03:38:49.27654592Z','5360325618082462883');
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
INSERT INTO "registry" VALUES('alert','stuck','',2,'{"is_raised":false,"detail":""}',1794700809000000,1794700810000000);
INSERT INTO "registry" VALUES('api_key','key_07070707070707070707070707070707','m1',2,'{"name":"till 7","role":"merchant","merchant":"m1","digest":"0707070707070707070707070707070707070707070707070707070707070707","revoked_at":"2026-11-15T00:00:08Z"}',1794700807000000,1794700808000000);
INSERT INTO "registry" VALUES('beneficiary','ben_01a1dc8107707f84ba91ff5793259c82','m1',1,'{"merchant":"m1","details":{"name":"A. Khan","msisdn":"923001234567"}}',1794700806000000,1794700806000000);
INSERT INTO "registry" VALUES('merchant','m1','m1',4,'{"name":"Shop m1","status":"open","subscriptions":[{"endpoint":"we_01a1dc80f0007886b762036f91fff5ec","event_types":["*"],"version":"2024-01-01"}]}',1794700802000000,1794700805000000);
INSERT INTO "registry" VALUES('webhook_endpoint','we_01a1dc80f0007874a386d5ec2fadb8a6','m1',2,'{"merchant":"m1","settings":{"url":"https://merchant.example/hooks","event_types":["payout.success"],"version":"2024-01-01","header_names":[],"concurrency":2},"status":{"disabled":{"reason":"it is moved","at":"2026-11-15T00:00:05Z"}},"secrets":[{"sealed":"sealed"}],"told":0}',1794700804000000,1794700805000000);
INSERT INTO "registry" VALUES('webhook_endpoint','we_01a1dc80f0007886b762036f91fff5ec','m1',1,'{"merchant":"m1","settings":{"url":"https://merchant.example/hooks","event_types":["*"],"version":"2024-01-01","header_names":[],"concurrency":2},"status":"enabled","secrets":[{"sealed":"sealed"}],"told":0}',1794700803000000,1794700803000000);
CREATE TABLE slices (
    seq INTEGER PRIMARY KEY
) STRICT;
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
INSERT INTO "transactions" VALUES(X'01A1DC80F3E879BBA66242757A956F1C',X'01A1DC80F3E875FD98E04EAD0F5256E3',0,'ADJUSTMENT_CREDIT','start',X'D64F26466265E23DFE492546E9C01CDF000042AB1B3CDDF08B304526631D4BA0',X'1D32C61BED7908CC76C99BECE6531A18DAC850936BFE5C4704DE81F7921A6A4B',1794700801000000,NULL);
INSERT INTO "transactions" VALUES(X'01A1DC811EE076B89A77ECECEE89AD66',X'01A1DC811EE072CA94A0191FF5C4531C',0,'PAYIN_COLLECTION','pi_01a1dc811af87d15aaa37d3468ee2df3',X'C82B7AE999E23B9C355BBE6720D73C8E0E4FB1ED7D5CC3A7F0190D5C12867FB3',X'1D32C61BED7908CC76C99BECE6531A18DAC850936BFE5C4704DE81F7921A6A4B',1794700812000000,NULL);
INSERT INTO "transactions" VALUES(X'01A1DC812A9872B2A4F7480BD92AD0DC',X'01A1DC812A987303BBAA085FF683D784',0,'PAYOUT_RESERVE','po_01a1dc812a9875258c9f45b4f9a1d6b2',X'3A487D67558829EAC5C945089579A639173BB0C20B282D4A8279BE01633BA893',X'1D32C61BED7908CC76C99BECE6531A18DAC850936BFE5C4704DE81F7921A6A4B',1794700815000000,NULL);
INSERT INTO "transactions" VALUES(X'01A1DC812E807E54A8F7BE9C486F9F3E',X'01A1DC812E8070FCA07636E65A18391C',0,'PAYOUT_RESERVE','po_01a1dc812e80798d8aa89be74a4d07db',X'659F1E42D32E23ECDC85D37D3F71BB721FFC6531C696B7D654F3EA956EEA311E',X'1D32C61BED7908CC76C99BECE6531A18DAC850936BFE5C4704DE81F7921A6A4B',1794700816000000,NULL);
INSERT INTO "transactions" VALUES(X'01A1DC81326875F59A4985071F5866F8',X'01A1DC813268795EB204BC186A7FD832',0,'PAYOUT_RESERVE','po_01a1dc8132687dd19fc2dc5f4c9af557',X'9C5F7D89C80BE79632FB24CBC6FE1961BDB9A080CB99B9FF3B0939B6BB161544',X'1D32C61BED7908CC76C99BECE6531A18DAC850936BFE5C4704DE81F7921A6A4B',1794700817000000,NULL);
INSERT INTO "transactions" VALUES(X'01A1DC813A3877129E6650FDC80B53B4',X'01A1DC813A387AFD84A8E99BEF2945D0',0,'PAYOUT_SETTLE','po_01a1dc812a9875258c9f45b4f9a1d6b2',X'34D4313D734E843B47330D81519B24532D709D23A19AFB72FF108EA4298EBFA1',X'1D32C61BED7908CC76C99BECE6531A18DAC850936BFE5C4704DE81F7921A6A4B',1794700819000000,NULL);
INSERT INTO "transactions" VALUES(X'01A1DC813E207C66B8DF02701D289026',X'01A1DC813E207D6A99E8E5479BB8D626',0,'PAYOUT_RESERVE','po_01a1dc813e207fe5a819aaaf1180ef01',X'720C0577E092710BFCB097071533E5D0060DE194642E926020703181AD94FA3D',X'1D32C61BED7908CC76C99BECE6531A18DAC850936BFE5C4704DE81F7921A6A4B',1794700820000000,NULL);
INSERT INTO "transactions" VALUES(X'01A1DC81420875B4B4F1A64FB9892B94',X'01A1DC8142087933A32622AA51E507BB',0,'PAYOUT_RELEASE','po_01a1dc813e207fe5a819aaaf1180ef01',X'264032E05D164FB28070B6083958D8EDDFF3B93396DEDB78975B64C9B4150397',X'1D32C61BED7908CC76C99BECE6531A18DAC850936BFE5C4704DE81F7921A6A4B',1794700821000000,NULL);
INSERT INTO "transactions" VALUES(X'01A1DC8155907F3DACD3101E5A5EF6F2',X'01A1DC815590784B87B82863E3BCF340',0,'PAYOUT_RESERVE','po_01a1dc8155907eaa97892de4b82456d8',X'FE6DBC62D8CAE9D5F628D22D1FF0695F5EE3C361C33405C974D1506EE0B2CAF4',X'1D32C61BED7908CC76C99BECE6531A18DAC850936BFE5C4704DE81F7921A6A4B',1794700826000000,NULL);
INSERT INTO "transactions" VALUES(X'01A1DC8161487F23876352ED00D3468D',X'01A1DC81614877B38A1625CD9D521CF0',0,'PAYOUT_RESERVE','po_01a1dc816148791389c3926556f3a32c',X'DFF5C45B7EDF4EDD37B77478FE5079524C3E697381DC82F76D611B8245922A3A',X'1D32C61BED7908CC76C99BECE6531A18DAC850936BFE5C4704DE81F7921A6A4B',1794700829000000,NULL);
INSERT INTO "transactions" VALUES(X'01A1DC8165307524BE435965C1CB3281',X'01A1DC81653073D59FB75A9371C612C9',0,'PAYOUT_SETTLE','po_01a1dc816148791389c3926556f3a32c',X'FD48FD91DAC5EF95A7DDB044E37CFDE89AF97EB384F43622197CEABC53F530EF',X'1D32C61BED7908CC76C99BECE6531A18DAC850936BFE5C4704DE81F7921A6A4B',1794700830000000,NULL);
CREATE INDEX registry_by_merchant ON registry (kind, merchant, id);
COMMIT;
