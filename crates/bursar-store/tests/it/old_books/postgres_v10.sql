CREATE TABLE public.accounts (
    address text NOT NULL COLLATE pg_catalog."C",
    currency text NOT NULL COLLATE pg_catalog."C",
    balance bigint NOT NULL,
    version bigint NOT NULL,
    line bigint NOT NULL
)
WITH (fillfactor='50');
ALTER TABLE ONLY public.accounts ALTER COLUMN address SET STATISTICS 10;
ALTER TABLE ONLY public.accounts ALTER COLUMN currency SET STATISTICS 10;
ALTER TABLE ONLY public.accounts ALTER COLUMN balance SET STATISTICS 10;
ALTER TABLE ONLY public.accounts ALTER COLUMN version SET STATISTICS 10;
ALTER TABLE ONLY public.accounts ALTER COLUMN line SET STATISTICS 10;
CREATE TABLE public.attempts (
    channel text NOT NULL COLLATE pg_catalog."C",
    reference text NOT NULL COLLATE pg_catalog."C",
    flow uuid NOT NULL
);
ALTER TABLE ONLY public.attempts ALTER COLUMN channel SET STATISTICS 10;
ALTER TABLE ONLY public.attempts ALTER COLUMN reference SET STATISTICS 10;
ALTER TABLE ONLY public.attempts ALTER COLUMN flow SET STATISTICS 10;
CREATE TABLE public.audit (
    commit_id uuid NOT NULL,
    n bigint NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    resource text NOT NULL,
    note text NOT NULL,
    "time" bigint NOT NULL
);
ALTER TABLE ONLY public.audit ALTER COLUMN commit_id SET STATISTICS 10;
ALTER TABLE ONLY public.audit ALTER COLUMN n SET STATISTICS 10;
ALTER TABLE ONLY public.audit ALTER COLUMN actor SET STATISTICS 10;
ALTER TABLE ONLY public.audit ALTER COLUMN action SET STATISTICS 10;
ALTER TABLE ONLY public.audit ALTER COLUMN resource SET STATISTICS 10;
ALTER TABLE ONLY public.audit ALTER COLUMN note SET STATISTICS 10;
ALTER TABLE ONLY public.audit ALTER COLUMN "time" SET STATISTICS 10;
CREATE TABLE public.chart_lines (
    line bigint NOT NULL,
    gl bigint NOT NULL,
    name text NOT NULL,
    class text NOT NULL,
    address text NOT NULL,
    liquidity text NOT NULL,
    view text NOT NULL
);
ALTER TABLE public.chart_lines ALTER COLUMN line ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.chart_lines_line_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.commits (
    seq bigint NOT NULL,
    id uuid NOT NULL,
    "time" bigint NOT NULL,
    hash bytea NOT NULL
);
ALTER TABLE ONLY public.commits ALTER COLUMN seq SET STATISTICS 10;
ALTER TABLE ONLY public.commits ALTER COLUMN id SET STATISTICS 10;
ALTER TABLE ONLY public.commits ALTER COLUMN "time" SET STATISTICS 10;
ALTER TABLE ONLY public.commits ALTER COLUMN hash SET STATISTICS 10;
CREATE TABLE public.due (
    lane text NOT NULL COLLATE pg_catalog."C",
    due_at bigint NOT NULL,
    flow uuid NOT NULL
);
ALTER TABLE ONLY public.due ALTER COLUMN lane SET STATISTICS 10;
ALTER TABLE ONLY public.due ALTER COLUMN due_at SET STATISTICS 10;
ALTER TABLE ONLY public.due ALTER COLUMN flow SET STATISTICS 10;
CREATE TABLE public.entries (
    account text NOT NULL COLLATE pg_catalog."C",
    commit_id uuid NOT NULL,
    places integer[] NOT NULL
);
ALTER TABLE ONLY public.entries ALTER COLUMN account SET STATISTICS 10;
ALTER TABLE ONLY public.entries ALTER COLUMN commit_id SET STATISTICS 10;
ALTER TABLE ONLY public.entries ALTER COLUMN places SET STATISTICS 10;
CREATE TABLE public.events (
    commit_id uuid NOT NULL,
    n bigint NOT NULL,
    id uuid NOT NULL,
    kind text NOT NULL,
    resource text NOT NULL COLLATE pg_catalog."C",
    merchant text NOT NULL,
    sequence bigint NOT NULL,
    "time" bigint NOT NULL,
    data text NOT NULL
);
ALTER TABLE ONLY public.events ALTER COLUMN commit_id SET STATISTICS 10;
ALTER TABLE ONLY public.events ALTER COLUMN n SET STATISTICS 10;
ALTER TABLE ONLY public.events ALTER COLUMN id SET STATISTICS 10;
ALTER TABLE ONLY public.events ALTER COLUMN kind SET STATISTICS 10;
ALTER TABLE ONLY public.events ALTER COLUMN resource SET STATISTICS 10;
ALTER TABLE ONLY public.events ALTER COLUMN merchant SET STATISTICS 10;
ALTER TABLE ONLY public.events ALTER COLUMN sequence SET STATISTICS 10;
ALTER TABLE ONLY public.events ALTER COLUMN "time" SET STATISTICS 10;
ALTER TABLE ONLY public.events ALTER COLUMN data SET STATISTICS 10;
CREATE TABLE public.flows (
    id uuid NOT NULL,
    kind text NOT NULL,
    merchant text NOT NULL,
    status text NOT NULL,
    version bigint NOT NULL,
    sequence bigint NOT NULL,
    state text NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
)
WITH (fillfactor='50');
ALTER TABLE ONLY public.flows ALTER COLUMN id SET STATISTICS 10;
ALTER TABLE ONLY public.flows ALTER COLUMN kind SET STATISTICS 10;
ALTER TABLE ONLY public.flows ALTER COLUMN merchant SET STATISTICS 10;
ALTER TABLE ONLY public.flows ALTER COLUMN status SET STATISTICS 10;
ALTER TABLE ONLY public.flows ALTER COLUMN version SET STATISTICS 10;
ALTER TABLE ONLY public.flows ALTER COLUMN sequence SET STATISTICS 10;
ALTER TABLE ONLY public.flows ALTER COLUMN state SET STATISTICS 10;
ALTER TABLE ONLY public.flows ALTER COLUMN created_at SET STATISTICS 10;
ALTER TABLE ONLY public.flows ALTER COLUMN updated_at SET STATISTICS 10;
CREATE TABLE public.freezes (
    scope text NOT NULL COLLATE pg_catalog."C",
    details text NOT NULL
);
CREATE TABLE public.head (
    one integer NOT NULL,
    seq bigint NOT NULL,
    "time" bigint,
    hash bytea NOT NULL,
    switches_version bigint DEFAULT 0 NOT NULL,
    merchants_version bigint DEFAULT 0 NOT NULL,
    CONSTRAINT head_one_check CHECK ((one = 1))
);
CREATE TABLE public.holds (
    gl bigint NOT NULL,
    reference text NOT NULL COLLATE pg_catalog."C",
    account text NOT NULL,
    currency text NOT NULL,
    amount bigint NOT NULL,
    epoch bigint NOT NULL,
    ended_by uuid
)
WITH (fillfactor='50');
ALTER TABLE ONLY public.holds ALTER COLUMN gl SET STATISTICS 10;
ALTER TABLE ONLY public.holds ALTER COLUMN reference SET STATISTICS 10;
ALTER TABLE ONLY public.holds ALTER COLUMN account SET STATISTICS 10;
ALTER TABLE ONLY public.holds ALTER COLUMN currency SET STATISTICS 10;
ALTER TABLE ONLY public.holds ALTER COLUMN amount SET STATISTICS 10;
ALTER TABLE ONLY public.holds ALTER COLUMN epoch SET STATISTICS 10;
ALTER TABLE ONLY public.holds ALTER COLUMN ended_by SET STATISTICS 10;
CREATE TABLE public.keys (
    digest bytea NOT NULL,
    scope text NOT NULL,
    key text NOT NULL,
    request_hash bytea NOT NULL,
    flow uuid NOT NULL,
    reply text NOT NULL
);
ALTER TABLE ONLY public.keys ALTER COLUMN digest SET STATISTICS 10;
ALTER TABLE ONLY public.keys ALTER COLUMN scope SET STATISTICS 10;
ALTER TABLE ONLY public.keys ALTER COLUMN key SET STATISTICS 10;
ALTER TABLE ONLY public.keys ALTER COLUMN request_hash SET STATISTICS 10;
ALTER TABLE ONLY public.keys ALTER COLUMN flow SET STATISTICS 10;
ALTER TABLE ONLY public.keys ALTER COLUMN reply SET STATISTICS 10;
CREATE TABLE public.transactions (
    id uuid NOT NULL,
    commit_id uuid NOT NULL,
    n bigint NOT NULL,
    event text NOT NULL COLLATE pg_catalog."C",
    reference text NOT NULL COLLATE pg_catalog."C",
    request_hash bytea NOT NULL,
    rulebook_hash bytea NOT NULL,
    effective_at bigint NOT NULL,
    reverts uuid,
    postings text NOT NULL
);
ALTER TABLE ONLY public.transactions ALTER COLUMN id SET STATISTICS 10;
ALTER TABLE ONLY public.transactions ALTER COLUMN commit_id SET STATISTICS 10;
ALTER TABLE ONLY public.transactions ALTER COLUMN n SET STATISTICS 10;
ALTER TABLE ONLY public.transactions ALTER COLUMN event SET STATISTICS 10;
ALTER TABLE ONLY public.transactions ALTER COLUMN reference SET STATISTICS 10;
ALTER TABLE ONLY public.transactions ALTER COLUMN request_hash SET STATISTICS 10;
ALTER TABLE ONLY public.transactions ALTER COLUMN rulebook_hash SET STATISTICS 10;
ALTER TABLE ONLY public.transactions ALTER COLUMN effective_at SET STATISTICS 10;
ALTER TABLE ONLY public.transactions ALTER COLUMN reverts SET STATISTICS 10;
ALTER TABLE ONLY public.transactions ALTER COLUMN postings SET STATISTICS 10;
CREATE VIEW public.postings AS
 SELECT t.id AS tx,
    (p.place - 1) AS n,
    (p.posting ->> 0) AS source,
    (p.posting ->> 1) AS destination,
    (p.posting ->> 2) AS currency,
    ((p.posting ->> 3))::bigint AS amount
   FROM (public.transactions t
     CROSS JOIN LATERAL json_array_elements((t.postings)::json) WITH ORDINALITY p(posting, place));
CREATE TABLE public.refinery_schema_history (
    version integer NOT NULL,
    name character varying(255),
    applied_on character varying(255),
    checksum character varying(255)
);
CREATE TABLE public.registry (
    kind text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    merchant text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    content text NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);
ALTER TABLE ONLY public.registry ALTER COLUMN kind SET STATISTICS 10;
ALTER TABLE ONLY public.registry ALTER COLUMN id SET STATISTICS 10;
ALTER TABLE ONLY public.registry ALTER COLUMN merchant SET STATISTICS 10;
ALTER TABLE ONLY public.registry ALTER COLUMN version SET STATISTICS 10;
ALTER TABLE ONLY public.registry ALTER COLUMN content SET STATISTICS 10;
ALTER TABLE ONLY public.registry ALTER COLUMN created_at SET STATISTICS 10;
ALTER TABLE ONLY public.registry ALTER COLUMN updated_at SET STATISTICS 10;
INSERT INTO public.accounts VALUES ('expenses:adjustment:PKR', 'PKR', 25000, 1, 2);
INSERT INTO public.accounts VALUES ('assets:bank:main:PKR', 'PKR', 10000, 1, 3);
INSERT INTO public.accounts VALUES ('merchants:m1:available:PKR', 'PKR', 30325, 9, 1);
INSERT INTO public.accounts VALUES ('assets:bank:b1:PKR', 'PKR', -1700, 2, 3);
INSERT INTO public.accounts VALUES ('holds:payout:m1:PKR', 'PKR', 2865, 9, 4);
INSERT INTO public.accounts VALUES ('liabilities:vat:PKR', 'PKR', 10, 2, 5);
INSERT INTO public.accounts VALUES ('revenue:payout:PKR', 'PKR', 100, 2, 6);
INSERT INTO public.attempts VALUES ('payin:easy', 'r1', '01a1dc81-1af8-7d15-aaa3-7d3468ee2df3');
INSERT INTO public.attempts VALUES ('payin:easy', 'r0', '01a1dc81-26b0-722c-8eaf-e314423a0e0d');
INSERT INTO public.attempts VALUES ('wallet', '01a1dc81-2a98-78a6-a631-033df9b9cbd2', '01a1dc81-2a98-7525-8c9f-45b4f9a1d6b2');
INSERT INTO public.attempts VALUES ('wallet', '01a1dc81-2e80-777a-bb35-4b358982ebb4', '01a1dc81-2e80-798d-8aa8-9be74a4d07db');
INSERT INTO public.attempts VALUES ('wallet', '01a1dc81-3268-70ca-a1a9-dded48bf592b', '01a1dc81-3268-7dd1-9fc2-dc5f4c9af557');
INSERT INTO public.attempts VALUES ('wallet', '01a1dc81-3e20-7e13-a6df-98a2d6071a13', '01a1dc81-3e20-7fe5-a819-aaaf1180ef01');
INSERT INTO public.attempts VALUES ('wallet', '01a1dc81-5590-7d70-a632-3b8136c3adfd', '01a1dc81-5590-7eaa-9789-2de4b82456d8');
INSERT INTO public.attempts VALUES ('wallet', '01a1dc81-5978-70fb-a460-a0c3d4ee497a', '01a1dc81-5590-7eaa-9789-2de4b82456d8');
INSERT INTO public.attempts VALUES ('wallet', '01a1dc81-6148-7c2a-a8d6-466f875a0e13', '01a1dc81-6148-7913-89c3-926556f3a32c');
INSERT INTO public.audit VALUES ('01a1dc80-f7d0-7cf6-9aa7-d016291aa333', 0, 'ops', 'merchant.open', 'm1', '', 1794700802000000);
INSERT INTO public.audit VALUES ('01a1dc80-fbb8-7213-84a7-7e822655efb6', 0, 'ops', 'webhook_endpoint.add', 'we_01a1dc80f0007886b762036f91fff5ec', '', 1794700803000000);
INSERT INTO public.audit VALUES ('01a1dc80-ffa0-763b-8a3d-559ee725ef76', 0, 'ops', 'webhook_endpoint.add', 'we_01a1dc80f0007874a386d5ec2fadb8a6', '', 1794700804000000);
INSERT INTO public.audit VALUES ('01a1dc81-0388-7219-9cfd-b21894200b7f', 0, 'ops', 'webhook_endpoint.disable', 'we_01a1dc80f0007874a386d5ec2fadb8a6', '', 1794700805000000);
INSERT INTO public.audit VALUES ('01a1dc81-0770-7850-aab0-65f2fcf15eb0', 0, 'ops', 'beneficiary.add', 'ben_01a1dc8107707f84ba91ff5793259c82', '', 1794700806000000);
INSERT INTO public.audit VALUES ('01a1dc81-0b58-7133-bd6d-929c97732ce8', 0, 'ops', 'key.issue', 'key_07070707070707070707070707070707', '', 1794700807000000);
INSERT INTO public.audit VALUES ('01a1dc81-0f40-7da1-9fda-c8268fc8b7ca', 0, 'ops', 'key.revoke', 'key_07070707070707070707070707070707', '', 1794700808000000);
INSERT INTO public.audit VALUES ('01a1dc81-26b0-76b1-a09d-8dab71063af6', 0, 'ops', 'payin.record', 'pi_01a1dc8126b0722c8eafe314423a0e0d', 'r0', 1794700814000000);
INSERT INTO public.audit VALUES ('01a1dc81-2e80-70fc-a076-36e65a18391c', 0, 'ops', 'payout.create', 'po_01a1dc812e80798d8aa89be74a4d07db', '', 1794700816000000);
INSERT INTO public.audit VALUES ('01a1dc81-4208-7933-a326-22aa51e507bb', 0, 'm1', 'payout.cancel', 'po_01a1dc813e207fe5a819aaaf1180ef01', '', 1794700821000000);
INSERT INTO public.audit VALUES ('01a1dc81-45f0-76b0-90af-6ac2fcbbb382', 0, 'ops1', 'freeze', 'merchant:m9', 'a leak', 1794700822000000);
INSERT INTO public.audit VALUES ('01a1dc81-49d8-7831-ac14-1ba4062e0a53', 0, 'ops1', 'freeze', 'channel:bank', 'a leak', 1794700823000000);
INSERT INTO public.audit VALUES ('01a1dc81-4dc0-71ad-a81b-af93abc4d65b', 0, 'ops2', 'unfreeze.propose', 'channel:bank', 'mended', 1794700824000000);
INSERT INTO public.chart_lines OVERRIDING SYSTEM VALUE VALUES (1, 2004, 'Merchant available', 'liability', 'merchants:{merchantId}:available:{currency}', 'T0', 'merchant');
INSERT INTO public.chart_lines OVERRIDING SYSTEM VALUE VALUES (2, 5040, 'Goodwill and corrections', 'expense', 'expenses:adjustment:{currency}', 'none', 'pnl');
INSERT INTO public.chart_lines OVERRIDING SYSTEM VALUE VALUES (3, 1000, 'Settlement bank', 'asset', 'assets:bank:{bankId}:{currency}', 'T0', 'cash');
INSERT INTO public.chart_lines OVERRIDING SYSTEM VALUE VALUES (4, 2010, 'Payout holds', 'liability', 'holds:payout:{merchantId}:{currency}', 'T0-T1', 'hold');
INSERT INTO public.chart_lines OVERRIDING SYSTEM VALUE VALUES (5, 2100, 'VAT payable', 'liability', 'liabilities:vat:{currency}', 'T30', 'tax');
INSERT INTO public.chart_lines OVERRIDING SYSTEM VALUE VALUES (6, 4010, 'Payout fees', 'revenue', 'revenue:payout:{currency}', 'none', 'pnl');
INSERT INTO public.commits VALUES (1, '01a1dc80-f3e8-75fd-98e0-4ead0f5256e3', 1794700801000000, '\xa3064034fefa6d5b1216abab46e1b789963e917414bb1f81025012ea2993d660');
INSERT INTO public.commits VALUES (2, '01a1dc80-f7d0-7cf6-9aa7-d016291aa333', 1794700802000000, '\x1f9082199301a57a7933e0dbda046f329a0771e63913a113f0a99fc31303fb1f');
INSERT INTO public.commits VALUES (3, '01a1dc80-fbb8-7213-84a7-7e822655efb6', 1794700803000000, '\x8f0e3d010d339f87a12292355865a10054e7aca50b2ee167f93c4aff4f8ee183');
INSERT INTO public.commits VALUES (4, '01a1dc80-ffa0-763b-8a3d-559ee725ef76', 1794700804000000, '\x92f598405c790cfdeb77986c75446a829655fb35068c0d91303c3cc85f66d7eb');
INSERT INTO public.commits VALUES (5, '01a1dc81-0388-7219-9cfd-b21894200b7f', 1794700805000000, '\x80071014d7424e42bf156877c77ab3d175cd08a2d3c57e22981159171e51a905');
INSERT INTO public.commits VALUES (6, '01a1dc81-0770-7850-aab0-65f2fcf15eb0', 1794700806000000, '\xc1d4e14f9f196ff7c05fc79940412def8a6044e45bafd66c052b3443b5fa3471');
INSERT INTO public.commits VALUES (7, '01a1dc81-0b58-7133-bd6d-929c97732ce8', 1794700807000000, '\x0f93518da2e020e841bf08bffcc44f74420f72210f6e731a1ed1da0661427837');
INSERT INTO public.commits VALUES (8, '01a1dc81-0f40-7da1-9fda-c8268fc8b7ca', 1794700808000000, '\x59b32f7c934e24dfeeead281dc63a2b87a26df3428620c04372b1d86da254075');
INSERT INTO public.commits VALUES (9, '01a1dc81-1328-7c36-959c-34e476e94f69', 1794700809000000, '\xa9d6830829a1b5f0da8f58c44aed84e549b426610bcf4877b81e7a9c00ebc6f1');
INSERT INTO public.commits VALUES (10, '01a1dc81-1710-7668-ab34-dcdcf77d5ab1', 1794700810000000, '\x2f3c80f36a6d833e14111ed78f5dcf3d842b716453c55086e0e9a33fdc85ae3e');
INSERT INTO public.commits VALUES (11, '01a1dc81-1af8-7c69-86a2-0568279a7891', 1794700811000000, '\xdbd07af3ef6d00c2db088e56b55efb606074334650e3d03e3d2b0772d93460a7');
INSERT INTO public.commits VALUES (12, '01a1dc81-1ee0-72ca-94a0-191ff5c4531c', 1794700812000000, '\x8e8b0c358f26d02978bee39ad98b29ae29962113d34736eb2d5cf4d5d15f5290');
INSERT INTO public.commits VALUES (13, '01a1dc81-22c8-7507-a6e4-b891db573d63', 1794700813000000, '\x1e693e16cccb24873f745d0dcf96f9a92a87cd1c269ab87a83f20dbee9b15fea');
INSERT INTO public.commits VALUES (14, '01a1dc81-26b0-76b1-a09d-8dab71063af6', 1794700814000000, '\xd83665e1c54165a89e11793aae9655c7ea015c62ff7c7f7c13b5a93c45af2b09');
INSERT INTO public.commits VALUES (15, '01a1dc81-2a98-7303-bbaa-085ff683d784', 1794700815000000, '\xd0f58a09e23139dac09b14b9c69c7de0812f1404ef385d6af81208821977749e');
INSERT INTO public.commits VALUES (16, '01a1dc81-2e80-70fc-a076-36e65a18391c', 1794700816000000, '\x0ae399260d4cf73ecbc457118397e7bfa15ca68c7b6ab0ee47bae531de5d8756');
INSERT INTO public.commits VALUES (17, '01a1dc81-3268-795e-b204-bc186a7fd832', 1794700817000000, '\xf2236b835466927700748eaab492ee1e48402c205dfa5342aecb0793a3372664');
INSERT INTO public.commits VALUES (18, '01a1dc81-3650-77d9-b622-c85736486123', 1794700818000000, '\xe54dd3aa8f63eca5ff57e8affe318aae3dd2dff9e9be3e57f53757467af7fe9b');
INSERT INTO public.commits VALUES (19, '01a1dc81-3a38-7afd-84a8-e99bef2945d0', 1794700819000000, '\x10cdef34db2ae7388f08a01ae84bad154aa37e7f257f907bc0adb042b40647f0');
INSERT INTO public.commits VALUES (20, '01a1dc81-3e20-7d6a-99e8-e5479bb8d626', 1794700820000000, '\x812b6095a262093ad75f7d26f25457d226337dea02040398edab5c24342fd96e');
INSERT INTO public.commits VALUES (21, '01a1dc81-4208-7933-a326-22aa51e507bb', 1794700821000000, '\xe8d165945b8ac70931d97a9db7f41457caeca29a3c043d55d603ef044c62bfe0');
INSERT INTO public.commits VALUES (22, '01a1dc81-45f0-76b0-90af-6ac2fcbbb382', 1794700822000000, '\x38e10e765f8c2adb9e865482e278b854cdea1124af0c4e4016f1d8910c50abc7');
INSERT INTO public.commits VALUES (23, '01a1dc81-49d8-7831-ac14-1ba4062e0a53', 1794700823000000, '\xeb822708efd460f378247f1bc3adf2f590f55bf311f42c4071829e950f7a7757');
INSERT INTO public.commits VALUES (24, '01a1dc81-4dc0-71ad-a81b-af93abc4d65b', 1794700824000000, '\x8d146723143bb6eb08bd2eb3fb22ef9e1e60cd232a674c2a28126ad158380efd');
INSERT INTO public.commits VALUES (25, '01a1dc81-51a8-779a-8b25-4cd309eed2c1', 1794700825000000, '\x585750e7b948b0164b7d9854c31c9c2ea8262090940959fd185575babb5f07cf');
INSERT INTO public.commits VALUES (26, '01a1dc81-5590-784b-87b8-2863e3bcf340', 1794700826000000, '\x561b121d45f4ef2999af842012860a747fb01be7344adfa93eb1a24b8baf4c75');
INSERT INTO public.commits VALUES (27, '01a1dc81-5978-7a5c-b94c-4b2f1fd050ac', 1794700827000000, '\xecc32a042445529516ad06a457fb4902f0d3efa83fd461cee03221687695c13b');
INSERT INTO public.commits VALUES (28, '01a1dc81-5d60-7edc-ae88-30f0690c0bde', 1794700828000000, '\x4a8ed475ca186a61c478cda2b8d79637c916f241c4add6b46b8469fd37baa4bc');
INSERT INTO public.commits VALUES (29, '01a1dc81-6148-77b3-8a16-25cd9d521cf0', 1794700829000000, '\x136e14051b845a64a4b9ec4f9bc959b83385c8758bb7ec045b9bef7e8ddaa072');
INSERT INTO public.commits VALUES (30, '01a1dc81-6530-73d5-9fb7-5a9371c612c9', 1794700830000000, '\xaf71950d66991c0c4c5ae14230514efa47de2b20330ea773d6d21aae5af1f3a1');
INSERT INTO public.commits VALUES (31, '01a1dc81-6918-7474-a240-c1ad97512840', 1794700831000000, '\x07e405609c0e2dab7222428d2fdf48fd0862cd27238f6267e93beb4db387a2ac');
INSERT INTO public.due VALUES ('webhook:we_01a1dc80f0007886b762036f91fff5ec', 1794700812000000, '01a1dc81-1ee0-7e28-88c7-97d08c71dd8f');
INSERT INTO public.due VALUES ('webhook:we_01a1dc80f0007886b762036f91fff5ec', 1794700813000000, '01a1dc81-22c8-797a-b19d-d35db0d93326');
INSERT INTO public.due VALUES ('webhook:we_01a1dc80f0007886b762036f91fff5ec', 1794700814000000, '01a1dc81-26b0-7593-bee1-f1cfd87c7856');
INSERT INTO public.due VALUES ('webhook:we_01a1dc80f0007886b762036f91fff5ec', 1794700815000000, '01a1dc81-2a98-7cea-bde3-0bbba1cfc825');
INSERT INTO public.due VALUES ('submit:wallet', 1794700816000000, '01a1dc81-2e80-798d-8aa8-9be74a4d07db');
INSERT INTO public.due VALUES ('webhook:we_01a1dc80f0007886b762036f91fff5ec', 1794700816000000, '01a1dc81-2e80-7cb2-b5e9-38cebd76a12b');
INSERT INTO public.due VALUES ('webhook:we_01a1dc80f0007886b762036f91fff5ec', 1794700817000000, '01a1dc81-3268-7246-9dc3-905c0032764b');
INSERT INTO public.due VALUES ('submit:wallet', 1794700817000000, '01a1dc81-3268-7dd1-9fc2-dc5f4c9af557');
INSERT INTO public.due VALUES ('webhook:we_01a1dc80f0007886b762036f91fff5ec', 1794700818000000, '01a1dc81-3650-75c9-83e6-50732212b8d6');
INSERT INTO public.due VALUES ('webhook:we_01a1dc80f0007886b762036f91fff5ec', 1794700819000000, '01a1dc81-3a38-725c-9bec-a90d90fc4562');
INSERT INTO public.due VALUES ('webhook:we_01a1dc80f0007886b762036f91fff5ec', 1794700820000000, '01a1dc81-3e20-75cd-83cf-04e5881130ee');
INSERT INTO public.due VALUES ('webhook:we_01a1dc80f0007886b762036f91fff5ec', 1794700821000000, '01a1dc81-4208-7489-bb53-742d20308399');
INSERT INTO public.due VALUES ('webhook-lease', 1794700860000000, '01a1dc81-1af8-7ee4-9f13-03c615816773');
INSERT INTO public.due VALUES ('webhook:we_01a1dc80f0007886b762036f91fff5ec', 1794700826000000, '01a1dc81-5590-7aed-a5a3-bbbe528298dd');
INSERT INTO public.due VALUES ('payout', 1794704428000000, '01a1dc81-5590-7eaa-9789-2de4b82456d8');
INSERT INTO public.due VALUES ('webhook:we_01a1dc80f0007886b762036f91fff5ec', 1794700828000000, '01a1dc81-5d60-7de7-9a52-16fc65757179');
INSERT INTO public.due VALUES ('webhook:we_01a1dc80f0007886b762036f91fff5ec', 1794700829000000, '01a1dc81-6148-7c00-b81a-895f484d6419');
INSERT INTO public.due VALUES ('webhook:we_01a1dc80f0007886b762036f91fff5ec', 1794700830000000, '01a1dc81-6530-7cf2-b4c2-86e17a3841aa');
INSERT INTO public.due VALUES ('webhook:we_01a1dc80f0007886b762036f91fff5ec', 1794700831000000, '01a1dc81-6918-7d56-8b26-e8031add2141');
INSERT INTO public.entries VALUES ('expenses:adjustment:PKR', '01a1dc80-f3e8-75fd-98e0-4ead0f5256e3', '{0}');
INSERT INTO public.entries VALUES ('merchants:m1:available:PKR', '01a1dc80-f3e8-75fd-98e0-4ead0f5256e3', '{0}');
INSERT INTO public.entries VALUES ('assets:bank:main:PKR', '01a1dc81-1ee0-72ca-94a0-191ff5c4531c', '{0}');
INSERT INTO public.entries VALUES ('merchants:m1:available:PKR', '01a1dc81-1ee0-72ca-94a0-191ff5c4531c', '{0}');
INSERT INTO public.entries VALUES ('holds:payout:m1:PKR', '01a1dc81-2a98-7303-bbaa-085ff683d784', '{0}');
INSERT INTO public.entries VALUES ('merchants:m1:available:PKR', '01a1dc81-2a98-7303-bbaa-085ff683d784', '{0}');
INSERT INTO public.entries VALUES ('holds:payout:m1:PKR', '01a1dc81-2e80-70fc-a076-36e65a18391c', '{0}');
INSERT INTO public.entries VALUES ('merchants:m1:available:PKR', '01a1dc81-2e80-70fc-a076-36e65a18391c', '{0}');
INSERT INTO public.entries VALUES ('holds:payout:m1:PKR', '01a1dc81-3268-795e-b204-bc186a7fd832', '{0}');
INSERT INTO public.entries VALUES ('merchants:m1:available:PKR', '01a1dc81-3268-795e-b204-bc186a7fd832', '{0}');
INSERT INTO public.entries VALUES ('assets:bank:b1:PKR', '01a1dc81-3a38-7afd-84a8-e99bef2945d0', '{0}');
INSERT INTO public.entries VALUES ('holds:payout:m1:PKR', '01a1dc81-3a38-7afd-84a8-e99bef2945d0', '{0}');
INSERT INTO public.entries VALUES ('liabilities:vat:PKR', '01a1dc81-3a38-7afd-84a8-e99bef2945d0', '{0}');
INSERT INTO public.entries VALUES ('revenue:payout:PKR', '01a1dc81-3a38-7afd-84a8-e99bef2945d0', '{0}');
INSERT INTO public.entries VALUES ('holds:payout:m1:PKR', '01a1dc81-3e20-7d6a-99e8-e5479bb8d626', '{0}');
INSERT INTO public.entries VALUES ('merchants:m1:available:PKR', '01a1dc81-3e20-7d6a-99e8-e5479bb8d626', '{0}');
INSERT INTO public.entries VALUES ('holds:payout:m1:PKR', '01a1dc81-4208-7933-a326-22aa51e507bb', '{0}');
INSERT INTO public.entries VALUES ('merchants:m1:available:PKR', '01a1dc81-4208-7933-a326-22aa51e507bb', '{0}');
INSERT INTO public.entries VALUES ('holds:payout:m1:PKR', '01a1dc81-5590-784b-87b8-2863e3bcf340', '{0}');
INSERT INTO public.entries VALUES ('merchants:m1:available:PKR', '01a1dc81-5590-784b-87b8-2863e3bcf340', '{0}');
INSERT INTO public.entries VALUES ('holds:payout:m1:PKR', '01a1dc81-6148-77b3-8a16-25cd9d521cf0', '{0}');
INSERT INTO public.entries VALUES ('merchants:m1:available:PKR', '01a1dc81-6148-77b3-8a16-25cd9d521cf0', '{0}');
INSERT INTO public.entries VALUES ('assets:bank:b1:PKR', '01a1dc81-6530-73d5-9fb7-5a9371c612c9', '{0}');
INSERT INTO public.entries VALUES ('holds:payout:m1:PKR', '01a1dc81-6530-73d5-9fb7-5a9371c612c9', '{0}');
INSERT INTO public.entries VALUES ('liabilities:vat:PKR', '01a1dc81-6530-73d5-9fb7-5a9371c612c9', '{0}');
INSERT INTO public.entries VALUES ('revenue:payout:PKR', '01a1dc81-6530-73d5-9fb7-5a9371c612c9', '{0}');
INSERT INTO public.events VALUES ('01a1dc81-1328-7c36-959c-34e476e94f69', 0, '01a1dc81-1328-7b7b-83fd-9dfacef4c338', 'alert.raised', 'alert:stuck', '', 1, 1794700809000000, '{"is_raised":true,"detail":"1 payout"}');
INSERT INTO public.events VALUES ('01a1dc81-1710-7668-ab34-dcdcf77d5ab1', 0, '01a1dc81-1710-7bed-b17f-64db1adc2b93', 'alert.cleared', 'alert:stuck', '', 2, 1794700810000000, '{"is_raised":false,"detail":""}');
INSERT INTO public.events VALUES ('01a1dc81-1af8-7c69-86a2-0568279a7891', 0, '01a1dc81-1af8-7ee4-afdc-30b6e839704c', 'payin.pending', 'pi_01a1dc811af87d15aaa37d3468ee2df3', 'm1', 1, 1794700811000000, '{"kind":"payin","id":"pi_01a1dc811af87d15aaa37d3468ee2df3","status":"PENDING","version":1,"merchant_id":"m1","provider":"easy","reference":"r1","amount":"100.00","net":"100.00","fee":"0.00","vat":"0.00","currency":"PKR","created_at":"2026-11-15T00:00:11Z","updated_at":"2026-11-15T00:00:11Z"}');
INSERT INTO public.events VALUES ('01a1dc81-1ee0-72ca-94a0-191ff5c4531c', 0, '01a1dc81-1ee0-7e28-b59e-841195d42ec1', 'payin.success', 'pi_01a1dc811af87d15aaa37d3468ee2df3', 'm1', 2, 1794700812000000, '{"kind":"payin","id":"pi_01a1dc811af87d15aaa37d3468ee2df3","status":"COLLECTED","version":2,"merchant_id":"m1","provider":"easy","reference":"r1","amount":"100.00","net":"100.00","fee":"0.00","vat":"0.00","currency":"PKR","created_at":"2026-11-15T00:00:11Z","updated_at":"2026-11-15T00:00:12Z"}');
INSERT INTO public.events VALUES ('01a1dc81-22c8-7507-a6e4-b891db573d63', 0, '01a1dc81-22c8-797a-af10-0485d4fb6a4d', 'payin.contradicted', 'pi_01a1dc811af87d15aaa37d3468ee2df3', 'm1', 3, 1794700813000000, '{"kind":"payin","id":"pi_01a1dc811af87d15aaa37d3468ee2df3","status":"CONTRADICTED","version":3,"merchant_id":"m1","provider":"easy","reference":"r1","amount":"100.00","net":"100.00","fee":"0.00","vat":"0.00","currency":"PKR","created_at":"2026-11-15T00:00:11Z","updated_at":"2026-11-15T00:00:13Z"}');
INSERT INTO public.events VALUES ('01a1dc81-26b0-76b1-a09d-8dab71063af6', 0, '01a1dc81-26b0-7593-a0e1-cc8b01e30eb7', 'payin.pending', 'pi_01a1dc8126b0722c8eafe314423a0e0d', 'm1', 1, 1794700814000000, '{"kind":"payin","id":"pi_01a1dc8126b0722c8eafe314423a0e0d","status":"PENDING","version":1,"merchant_id":"m1","provider":"easy","reference":"r0","amount":"100.00","net":"100.00","fee":"0.00","vat":"0.00","currency":"PKR","created_at":"2026-11-15T00:00:14Z","updated_at":"2026-11-15T00:00:14Z"}');
INSERT INTO public.events VALUES ('01a1dc81-2a98-7303-bbaa-085ff683d784', 0, '01a1dc81-2a98-7cea-8025-1c27e2db4bf1', 'payout.ready', 'po_01a1dc812a9875258c9f45b4f9a1d6b2', 'm1', 1, 1794700815000000, '{"kind":"payout","id":"po_01a1dc812a9875258c9f45b4f9a1d6b2","status":"READY","final":false,"version":1,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-2a98-78a6-a631-033df9b9cbd2","created_at":"2026-11-15T00:00:15Z","updated_at":"2026-11-15T00:00:15Z"}');
INSERT INTO public.events VALUES ('01a1dc81-2e80-70fc-a076-36e65a18391c', 0, '01a1dc81-2e80-7cb2-9ee5-b15df61d699b', 'payout.ready', 'po_01a1dc812e80798d8aa89be74a4d07db', 'm1', 1, 1794700816000000, '{"kind":"payout","id":"po_01a1dc812e80798d8aa89be74a4d07db","status":"READY","final":false,"version":1,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-2e80-777a-bb35-4b358982ebb4","created_at":"2026-11-15T00:00:16Z","updated_at":"2026-11-15T00:00:16Z"}');
INSERT INTO public.events VALUES ('01a1dc81-3268-795e-b204-bc186a7fd832', 0, '01a1dc81-3268-7246-9c4c-ada17bd9482b', 'payout.ready', 'po_01a1dc8132687dd19fc2dc5f4c9af557', 'm1', 1, 1794700817000000, '{"kind":"payout","id":"po_01a1dc8132687dd19fc2dc5f4c9af557","status":"READY","final":false,"version":1,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-3268-70ca-a1a9-dded48bf592b","created_at":"2026-11-15T00:00:17Z","updated_at":"2026-11-15T00:00:17Z"}');
INSERT INTO public.events VALUES ('01a1dc81-3650-77d9-b622-c85736486123', 0, '01a1dc81-3650-75c9-a5c3-52f2ebfcbeeb', 'payout.submitting', 'po_01a1dc812a9875258c9f45b4f9a1d6b2', 'm1', 2, 1794700818000000, '{"kind":"payout","id":"po_01a1dc812a9875258c9f45b4f9a1d6b2","status":"SUBMITTING","final":false,"version":2,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-2a98-78a6-a631-033df9b9cbd2","created_at":"2026-11-15T00:00:15Z","updated_at":"2026-11-15T00:00:18Z"}');
INSERT INTO public.events VALUES ('01a1dc81-3a38-7afd-84a8-e99bef2945d0', 0, '01a1dc81-3a38-725c-a7a1-fab79b4d2da3', 'payout.success', 'po_01a1dc812a9875258c9f45b4f9a1d6b2', 'm1', 3, 1794700819000000, '{"kind":"payout","id":"po_01a1dc812a9875258c9f45b4f9a1d6b2","status":"SUCCESS","final":true,"version":3,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-2a98-78a6-a631-033df9b9cbd2","created_at":"2026-11-15T00:00:15Z","updated_at":"2026-11-15T00:00:19Z"}');
INSERT INTO public.events VALUES ('01a1dc81-3e20-7d6a-99e8-e5479bb8d626', 0, '01a1dc81-3e20-75cd-abbe-7bb54974879a', 'payout.ready', 'po_01a1dc813e207fe5a819aaaf1180ef01', 'm1', 1, 1794700820000000, '{"kind":"payout","id":"po_01a1dc813e207fe5a819aaaf1180ef01","status":"READY","final":false,"version":1,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-3e20-7e13-a6df-98a2d6071a13","created_at":"2026-11-15T00:00:20Z","updated_at":"2026-11-15T00:00:20Z"}');
INSERT INTO public.events VALUES ('01a1dc81-4208-7933-a326-22aa51e507bb', 0, '01a1dc81-4208-7489-9143-1cba130df4dc', 'payout.cancelled', 'po_01a1dc813e207fe5a819aaaf1180ef01', 'm1', 2, 1794700821000000, '{"kind":"payout","id":"po_01a1dc813e207fe5a819aaaf1180ef01","status":"CANCELLED","final":true,"version":2,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-3e20-7e13-a6df-98a2d6071a13","created_at":"2026-11-15T00:00:20Z","updated_at":"2026-11-15T00:00:21Z"}');
INSERT INTO public.events VALUES ('01a1dc81-5590-784b-87b8-2863e3bcf340', 0, '01a1dc81-5590-7aed-a56a-9fc7879cf13e', 'payout.ready', 'po_01a1dc8155907eaa97892de4b82456d8', 'm1', 1, 1794700826000000, '{"kind":"payout","id":"po_01a1dc8155907eaa97892de4b82456d8","status":"READY","final":false,"version":1,"merchant_id":"m1","amount":"7.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-5590-7d70-a632-3b8136c3adfd","trace_id":"trace-stuck","created_at":"2026-11-15T00:00:26Z","updated_at":"2026-11-15T00:00:26Z"}');
INSERT INTO public.events VALUES ('01a1dc81-5d60-7edc-ae88-30f0690c0bde', 0, '01a1dc81-5d60-7de7-a7e4-6ba1fc78a4f2', 'payout.stuck', 'po_01a1dc8155907eaa97892de4b82456d8', 'm1', 2, 1794700828000000, '{"kind":"payout","id":"po_01a1dc8155907eaa97892de4b82456d8","status":"STUCK","final":false,"version":3,"merchant_id":"m1","amount":"7.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-5978-70fb-a460-a0c3d4ee497a","reason":"conflict","trace_id":"trace-stuck","created_at":"2026-11-15T00:00:26Z","updated_at":"2026-11-15T00:00:28Z"}');
INSERT INTO public.events VALUES ('01a1dc81-6148-77b3-8a16-25cd9d521cf0', 0, '01a1dc81-6148-7c00-bac6-2a0adabf79c7', 'payout.ready', 'po_01a1dc816148791389c3926556f3a32c', 'm1', 1, 1794700829000000, '{"kind":"payout","id":"po_01a1dc816148791389c3926556f3a32c","status":"READY","final":false,"version":1,"merchant_id":"m1","amount":"7.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-6148-7c2a-a8d6-466f875a0e13","trace_id":"trace-case","created_at":"2026-11-15T00:00:29Z","updated_at":"2026-11-15T00:00:29Z"}');
INSERT INTO public.events VALUES ('01a1dc81-6530-73d5-9fb7-5a9371c612c9', 0, '01a1dc81-6530-7cf2-8f7b-647595210ddd', 'payout.success', 'po_01a1dc816148791389c3926556f3a32c', 'm1', 2, 1794700830000000, '{"kind":"payout","id":"po_01a1dc816148791389c3926556f3a32c","status":"SUCCESS","final":true,"version":2,"merchant_id":"m1","amount":"7.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-6148-7c2a-a8d6-466f875a0e13","trace_id":"trace-case","created_at":"2026-11-15T00:00:29Z","updated_at":"2026-11-15T00:00:30Z"}');
INSERT INTO public.events VALUES ('01a1dc81-6918-7474-a240-c1ad97512840', 0, '01a1dc81-6918-7d56-a9e1-72241f223844', 'payout.success', 'po_01a1dc816148791389c3926556f3a32c', 'm1', 3, 1794700831000000, '{"kind":"payout","id":"po_01a1dc816148791389c3926556f3a32c","status":"SUCCESS","final":true,"version":3,"merchant_id":"m1","amount":"7.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-6148-7c2a-a8d6-466f875a0e13","reason":"contradicted","trace_id":"trace-case","created_at":"2026-11-15T00:00:29Z","updated_at":"2026-11-15T00:00:31Z"}');
INSERT INTO public.flows VALUES ('01a1dc81-1ee0-7e28-88c7-97d08c71dd8f', 'delivery', 'm1', 'PENDING', 1, 0, '{"v":1,"flow":{"terms":{"event":"evt_01a1dc811ee07e28b59e841195d42ec1","kind":"payin.success","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc811ee07e28b59e841195d42ec1\",\"source\":\"bursar\",\"type\":\"payin.success\",\"subject\":\"pi_01a1dc811af87d15aaa37d3468ee2df3\",\"time\":\"2026-11-15T00:00:12Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":2,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payin\",\"id\":\"pi_01a1dc811af87d15aaa37d3468ee2df3\",\"status\":\"COLLECTED\",\"version\":2,\"merchant_id\":\"m1\",\"provider\":\"easy\",\"reference\":\"r1\",\"amount\":\"100.00\",\"net\":\"100.00\",\"fee\":\"0.00\",\"vat\":\"0.00\",\"currency\":\"PKR\",\"created_at\":\"2026-11-15T00:00:11Z\",\"updated_at\":\"2026-11-15T00:00:12Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:12Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}', 1794700812000000, 1794700812000000);
INSERT INTO public.flows VALUES ('01a1dc81-1af8-7d15-aaa3-7d3468ee2df3', 'payin', 'm1', 'CONTRADICTED', 3, 3, '{"v":1,"flow":{"terms":{"funds":{"merchant":"m1","bank":"main","currency":"PKR","amount":10000,"fee":0,"vat":0},"provider":"easy","reference":"r1"},"state":"contradicted","said":{"Completed":{"said":"completed","at":"2026-11-15T00:00:12Z"},"Failed":{"said":"failed","at":"2026-11-15T00:00:13Z"},"Pending":{"said":"pending","at":"2026-11-15T00:00:11Z"}}}}', 1794700811000000, 1794700813000000);
INSERT INTO public.flows VALUES ('01a1dc81-2e80-798d-8aa8-9be74a4d07db', 'payout', 'm1', 'READY', 1, 1, '{"v":1,"flow":{"terms":{"funds":{"merchant":"m1","bank":"b1","currency":"PKR","amount":1000,"fee":50,"vat":5},"channel":"wallet","beneficiary":{"name":"A. Khan","msisdn":"923001234567"}},"attempts":[{"number":1,"reference":"01a1dc81-2e80-777a-bb35-4b358982ebb4","tries":0,"sent_by":null,"evidence":[]}],"state":{"ready":{"not_before":"2026-11-15T00:00:16Z"}},"hold_epoch":1}}', 1794700816000000, 1794700816000000);
INSERT INTO public.flows VALUES ('01a1dc81-1af8-7ee4-9f13-03c615816773', 'delivery', 'm1', 'DELIVERING', 2, 0, '{"v":1,"flow":{"terms":{"event":"evt_01a1dc811af87ee4afdc30b6e839704c","kind":"payin.pending","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc811af87ee4afdc30b6e839704c\",\"source\":\"bursar\",\"type\":\"payin.pending\",\"subject\":\"pi_01a1dc811af87d15aaa37d3468ee2df3\",\"time\":\"2026-11-15T00:00:11Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":1,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payin\",\"id\":\"pi_01a1dc811af87d15aaa37d3468ee2df3\",\"status\":\"PENDING\",\"version\":1,\"merchant_id\":\"m1\",\"provider\":\"easy\",\"reference\":\"r1\",\"amount\":\"100.00\",\"net\":\"100.00\",\"fee\":\"0.00\",\"vat\":\"0.00\",\"currency\":\"PKR\",\"created_at\":\"2026-11-15T00:00:11Z\",\"updated_at\":\"2026-11-15T00:00:11Z\"}}"},"state":{"delivering":{"since":"2026-11-15T00:00:25Z","lease_until":"2026-11-15T00:01:00Z"}},"attempts":1,"before":0,"is_replayed":false,"history":[]}}', 1794700811000000, 1794700825000000);
INSERT INTO public.flows VALUES ('01a1dc81-22c8-797a-b19d-d35db0d93326', 'delivery', 'm1', 'PENDING', 1, 0, '{"v":1,"flow":{"terms":{"event":"evt_01a1dc8122c8797aaf100485d4fb6a4d","kind":"payin.contradicted","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc8122c8797aaf100485d4fb6a4d\",\"source\":\"bursar\",\"type\":\"payin.contradicted\",\"subject\":\"pi_01a1dc811af87d15aaa37d3468ee2df3\",\"time\":\"2026-11-15T00:00:13Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":3,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payin\",\"id\":\"pi_01a1dc811af87d15aaa37d3468ee2df3\",\"status\":\"CONTRADICTED\",\"version\":3,\"merchant_id\":\"m1\",\"provider\":\"easy\",\"reference\":\"r1\",\"amount\":\"100.00\",\"net\":\"100.00\",\"fee\":\"0.00\",\"vat\":\"0.00\",\"currency\":\"PKR\",\"created_at\":\"2026-11-15T00:00:11Z\",\"updated_at\":\"2026-11-15T00:00:13Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:13Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}', 1794700813000000, 1794700813000000);
INSERT INTO public.flows VALUES ('01a1dc81-26b0-722c-8eaf-e314423a0e0d', 'payin', 'm1', 'PENDING', 1, 1, '{"v":1,"flow":{"terms":{"funds":{"merchant":"m1","bank":"main","currency":"PKR","amount":10000,"fee":0,"vat":0},"provider":"easy","reference":"r0"},"state":"pending","said":{"Pending":{"said":"pending","at":"2026-11-15T00:00:14Z"}}}}', 1794700814000000, 1794700814000000);
INSERT INTO public.flows VALUES ('01a1dc81-26b0-7593-bee1-f1cfd87c7856', 'delivery', 'm1', 'PENDING', 1, 0, '{"v":1,"flow":{"terms":{"event":"evt_01a1dc8126b07593a0e1cc8b01e30eb7","kind":"payin.pending","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc8126b07593a0e1cc8b01e30eb7\",\"source\":\"bursar\",\"type\":\"payin.pending\",\"subject\":\"pi_01a1dc8126b0722c8eafe314423a0e0d\",\"time\":\"2026-11-15T00:00:14Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":1,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payin\",\"id\":\"pi_01a1dc8126b0722c8eafe314423a0e0d\",\"status\":\"PENDING\",\"version\":1,\"merchant_id\":\"m1\",\"provider\":\"easy\",\"reference\":\"r0\",\"amount\":\"100.00\",\"net\":\"100.00\",\"fee\":\"0.00\",\"vat\":\"0.00\",\"currency\":\"PKR\",\"created_at\":\"2026-11-15T00:00:14Z\",\"updated_at\":\"2026-11-15T00:00:14Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:14Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}', 1794700814000000, 1794700814000000);
INSERT INTO public.flows VALUES ('01a1dc81-2a98-7cea-bde3-0bbba1cfc825', 'delivery', 'm1', 'PENDING', 1, 0, '{"v":1,"flow":{"terms":{"event":"evt_01a1dc812a987cea80251c27e2db4bf1","kind":"payout.ready","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc812a987cea80251c27e2db4bf1\",\"source\":\"bursar\",\"type\":\"payout.ready\",\"subject\":\"po_01a1dc812a9875258c9f45b4f9a1d6b2\",\"time\":\"2026-11-15T00:00:15Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":1,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payout\",\"id\":\"po_01a1dc812a9875258c9f45b4f9a1d6b2\",\"status\":\"READY\",\"final\":false,\"version\":1,\"merchant_id\":\"m1\",\"amount\":\"10.00\",\"fee\":\"0.50\",\"vat\":\"0.05\",\"currency\":\"PKR\",\"channel\":\"wallet\",\"reference\":\"01a1dc81-2a98-78a6-a631-033df9b9cbd2\",\"created_at\":\"2026-11-15T00:00:15Z\",\"updated_at\":\"2026-11-15T00:00:15Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:15Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}', 1794700815000000, 1794700815000000);
INSERT INTO public.flows VALUES ('01a1dc81-2a98-7525-8c9f-45b4f9a1d6b2', 'payout', 'm1', 'SUCCESS', 3, 3, '{"v":1,"flow":{"terms":{"funds":{"merchant":"m1","bank":"b1","currency":"PKR","amount":1000,"fee":50,"vat":5},"channel":"wallet","beneficiary":{"name":"A. Khan","msisdn":"923001234567"}},"attempts":[{"number":1,"reference":"01a1dc81-2a98-78a6-a631-033df9b9cbd2","tries":1,"sent_by":"2026-11-15T00:01:33Z","ended":1,"evidence":[[{"source":"submission","verdict":"paid","provider_reference":"px-1"},"2026-11-15T00:00:19Z"]]}],"state":"success","settled":1,"hold_epoch":1}}', 1794700815000000, 1794700819000000);
INSERT INTO public.flows VALUES ('01a1dc81-2e80-7cb2-b5e9-38cebd76a12b', 'delivery', 'm1', 'PENDING', 1, 0, '{"v":1,"flow":{"terms":{"event":"evt_01a1dc812e807cb29ee5b15df61d699b","kind":"payout.ready","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc812e807cb29ee5b15df61d699b\",\"source\":\"bursar\",\"type\":\"payout.ready\",\"subject\":\"po_01a1dc812e80798d8aa89be74a4d07db\",\"time\":\"2026-11-15T00:00:16Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":1,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payout\",\"id\":\"po_01a1dc812e80798d8aa89be74a4d07db\",\"status\":\"READY\",\"final\":false,\"version\":1,\"merchant_id\":\"m1\",\"amount\":\"10.00\",\"fee\":\"0.50\",\"vat\":\"0.05\",\"currency\":\"PKR\",\"channel\":\"wallet\",\"reference\":\"01a1dc81-2e80-777a-bb35-4b358982ebb4\",\"created_at\":\"2026-11-15T00:00:16Z\",\"updated_at\":\"2026-11-15T00:00:16Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:16Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}', 1794700816000000, 1794700816000000);
INSERT INTO public.flows VALUES ('01a1dc81-3268-7246-9dc3-905c0032764b', 'delivery', 'm1', 'PENDING', 1, 0, '{"v":1,"flow":{"terms":{"event":"evt_01a1dc81326872469c4cada17bd9482b","kind":"payout.ready","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc81326872469c4cada17bd9482b\",\"source\":\"bursar\",\"type\":\"payout.ready\",\"subject\":\"po_01a1dc8132687dd19fc2dc5f4c9af557\",\"time\":\"2026-11-15T00:00:17Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":1,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payout\",\"id\":\"po_01a1dc8132687dd19fc2dc5f4c9af557\",\"status\":\"READY\",\"final\":false,\"version\":1,\"merchant_id\":\"m1\",\"amount\":\"10.00\",\"fee\":\"0.50\",\"vat\":\"0.05\",\"currency\":\"PKR\",\"channel\":\"wallet\",\"reference\":\"01a1dc81-3268-70ca-a1a9-dded48bf592b\",\"created_at\":\"2026-11-15T00:00:17Z\",\"updated_at\":\"2026-11-15T00:00:17Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:17Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}', 1794700817000000, 1794700817000000);
INSERT INTO public.flows VALUES ('01a1dc81-3268-7dd1-9fc2-dc5f4c9af557', 'payout', 'm1', 'READY', 1, 1, '{"v":1,"flow":{"terms":{"funds":{"merchant":"m1","bank":"b1","currency":"PKR","amount":1000,"fee":50,"vat":5},"channel":"wallet","beneficiary":{"name":"A. Khan","msisdn":"923001234567"}},"attempts":[{"number":1,"reference":"01a1dc81-3268-70ca-a1a9-dded48bf592b","tries":0,"sent_by":null,"evidence":[]}],"state":{"ready":{"not_before":"2026-11-15T00:00:17Z"}},"hold_epoch":1}}', 1794700817000000, 1794700817000000);
INSERT INTO public.flows VALUES ('01a1dc81-3650-75c9-83e6-50732212b8d6', 'delivery', 'm1', 'PENDING', 1, 0, '{"v":1,"flow":{"terms":{"event":"evt_01a1dc81365075c9a5c352f2ebfcbeeb","kind":"payout.submitting","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc81365075c9a5c352f2ebfcbeeb\",\"source\":\"bursar\",\"type\":\"payout.submitting\",\"subject\":\"po_01a1dc812a9875258c9f45b4f9a1d6b2\",\"time\":\"2026-11-15T00:00:18Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":2,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payout\",\"id\":\"po_01a1dc812a9875258c9f45b4f9a1d6b2\",\"status\":\"SUBMITTING\",\"final\":false,\"version\":2,\"merchant_id\":\"m1\",\"amount\":\"10.00\",\"fee\":\"0.50\",\"vat\":\"0.05\",\"currency\":\"PKR\",\"channel\":\"wallet\",\"reference\":\"01a1dc81-2a98-78a6-a631-033df9b9cbd2\",\"created_at\":\"2026-11-15T00:00:15Z\",\"updated_at\":\"2026-11-15T00:00:18Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:18Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}', 1794700818000000, 1794700818000000);
INSERT INTO public.flows VALUES ('01a1dc81-3a38-725c-9bec-a90d90fc4562', 'delivery', 'm1', 'PENDING', 1, 0, '{"v":1,"flow":{"terms":{"event":"evt_01a1dc813a38725ca7a1fab79b4d2da3","kind":"payout.success","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc813a38725ca7a1fab79b4d2da3\",\"source\":\"bursar\",\"type\":\"payout.success\",\"subject\":\"po_01a1dc812a9875258c9f45b4f9a1d6b2\",\"time\":\"2026-11-15T00:00:19Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":3,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payout\",\"id\":\"po_01a1dc812a9875258c9f45b4f9a1d6b2\",\"status\":\"SUCCESS\",\"final\":true,\"version\":3,\"merchant_id\":\"m1\",\"amount\":\"10.00\",\"fee\":\"0.50\",\"vat\":\"0.05\",\"currency\":\"PKR\",\"channel\":\"wallet\",\"reference\":\"01a1dc81-2a98-78a6-a631-033df9b9cbd2\",\"created_at\":\"2026-11-15T00:00:15Z\",\"updated_at\":\"2026-11-15T00:00:19Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:19Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}', 1794700819000000, 1794700819000000);
INSERT INTO public.flows VALUES ('01a1dc81-3e20-75cd-83cf-04e5881130ee', 'delivery', 'm1', 'PENDING', 1, 0, '{"v":1,"flow":{"terms":{"event":"evt_01a1dc813e2075cdabbe7bb54974879a","kind":"payout.ready","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc813e2075cdabbe7bb54974879a\",\"source\":\"bursar\",\"type\":\"payout.ready\",\"subject\":\"po_01a1dc813e207fe5a819aaaf1180ef01\",\"time\":\"2026-11-15T00:00:20Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":1,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payout\",\"id\":\"po_01a1dc813e207fe5a819aaaf1180ef01\",\"status\":\"READY\",\"final\":false,\"version\":1,\"merchant_id\":\"m1\",\"amount\":\"10.00\",\"fee\":\"0.50\",\"vat\":\"0.05\",\"currency\":\"PKR\",\"channel\":\"wallet\",\"reference\":\"01a1dc81-3e20-7e13-a6df-98a2d6071a13\",\"created_at\":\"2026-11-15T00:00:20Z\",\"updated_at\":\"2026-11-15T00:00:20Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:20Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}', 1794700820000000, 1794700820000000);
INSERT INTO public.flows VALUES ('01a1dc81-3e20-7fe5-a819-aaaf1180ef01', 'payout', 'm1', 'CANCELLED', 2, 2, '{"v":1,"flow":{"terms":{"funds":{"merchant":"m1","bank":"b1","currency":"PKR","amount":1000,"fee":50,"vat":5},"channel":"wallet","beneficiary":{"name":"A. Khan","msisdn":"923001234567"}},"attempts":[{"number":1,"reference":"01a1dc81-3e20-7e13-a6df-98a2d6071a13","tries":0,"sent_by":null,"evidence":[]}],"state":"cancelled","hold_epoch":1,"released_by":"tx_01a1dc81420875b4b4f1a64fb9892b94"}}', 1794700820000000, 1794700821000000);
INSERT INTO public.flows VALUES ('01a1dc81-4208-7489-bb53-742d20308399', 'delivery', 'm1', 'PENDING', 1, 0, '{"v":1,"flow":{"terms":{"event":"evt_01a1dc814208748991431cba130df4dc","kind":"payout.cancelled","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc814208748991431cba130df4dc\",\"source\":\"bursar\",\"type\":\"payout.cancelled\",\"subject\":\"po_01a1dc813e207fe5a819aaaf1180ef01\",\"time\":\"2026-11-15T00:00:21Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":2,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payout\",\"id\":\"po_01a1dc813e207fe5a819aaaf1180ef01\",\"status\":\"CANCELLED\",\"final\":true,\"version\":2,\"merchant_id\":\"m1\",\"amount\":\"10.00\",\"fee\":\"0.50\",\"vat\":\"0.05\",\"currency\":\"PKR\",\"channel\":\"wallet\",\"reference\":\"01a1dc81-3e20-7e13-a6df-98a2d6071a13\",\"created_at\":\"2026-11-15T00:00:20Z\",\"updated_at\":\"2026-11-15T00:00:21Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:21Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}', 1794700821000000, 1794700821000000);
INSERT INTO public.flows VALUES ('01a1dc81-5590-7aed-a5a3-bbbe528298dd', 'delivery', 'm1', 'PENDING', 1, 0, '{"v":1,"flow":{"terms":{"event":"evt_01a1dc8155907aeda56a9fc7879cf13e","kind":"payout.ready","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc8155907aeda56a9fc7879cf13e\",\"source\":\"bursar\",\"type\":\"payout.ready\",\"subject\":\"po_01a1dc8155907eaa97892de4b82456d8\",\"time\":\"2026-11-15T00:00:26Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":1,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payout\",\"id\":\"po_01a1dc8155907eaa97892de4b82456d8\",\"status\":\"READY\",\"final\":false,\"version\":1,\"merchant_id\":\"m1\",\"amount\":\"7.00\",\"fee\":\"0.50\",\"vat\":\"0.05\",\"currency\":\"PKR\",\"channel\":\"wallet\",\"reference\":\"01a1dc81-5590-7d70-a632-3b8136c3adfd\",\"trace_id\":\"trace-stuck\",\"created_at\":\"2026-11-15T00:00:26Z\",\"updated_at\":\"2026-11-15T00:00:26Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:26Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}', 1794700826000000, 1794700826000000);
INSERT INTO public.flows VALUES ('01a1dc81-5590-7eaa-9789-2de4b82456d8', 'payout', 'm1', 'STUCK', 3, 2, '{"v":1,"flow":{"terms":{"funds":{"merchant":"m1","bank":"b1","currency":"PKR","amount":700,"fee":50,"vat":5},"channel":"wallet","beneficiary":{"name":"A. Khan","msisdn":"923001234567"},"remarks":{"trace_id":"trace-stuck"}},"attempts":[{"number":1,"reference":"01a1dc81-5590-7d70-a632-3b8136c3adfd","tries":0,"sent_by":null,"evidence":[[{"source":"callback","verdict":"paid","provider_reference":"P-1"},"2026-11-15T00:00:28Z"],[{"source":"callback","verdict":{"not_paid":{"is_retryable":true}},"provider_reference":"P-1"},"2026-11-15T00:00:27Z"]]},{"number":2,"reference":"01a1dc81-5978-70fb-a460-a0c3d4ee497a","tries":0,"sent_by":null,"evidence":[]}],"state":{"stuck":{"reason":"conflict","wait":{"until":"2026-11-15T01:00:28Z"}}},"hold_epoch":1}}', 1794700826000000, 1794700828000000);
INSERT INTO public.flows VALUES ('01a1dc81-5d60-7de7-9a52-16fc65757179', 'delivery', 'm1', 'PENDING', 1, 0, '{"v":1,"flow":{"terms":{"event":"evt_01a1dc815d607de7a7e46ba1fc78a4f2","kind":"payout.stuck","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc815d607de7a7e46ba1fc78a4f2\",\"source\":\"bursar\",\"type\":\"payout.stuck\",\"subject\":\"po_01a1dc8155907eaa97892de4b82456d8\",\"time\":\"2026-11-15T00:00:28Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":2,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payout\",\"id\":\"po_01a1dc8155907eaa97892de4b82456d8\",\"status\":\"STUCK\",\"final\":false,\"version\":3,\"merchant_id\":\"m1\",\"amount\":\"7.00\",\"fee\":\"0.50\",\"vat\":\"0.05\",\"currency\":\"PKR\",\"channel\":\"wallet\",\"reference\":\"01a1dc81-5978-70fb-a460-a0c3d4ee497a\",\"reason\":\"conflict\",\"trace_id\":\"trace-stuck\",\"created_at\":\"2026-11-15T00:00:26Z\",\"updated_at\":\"2026-11-15T00:00:28Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:28Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}', 1794700828000000, 1794700828000000);
INSERT INTO public.flows VALUES ('01a1dc81-6148-7c00-b81a-895f484d6419', 'delivery', 'm1', 'PENDING', 1, 0, '{"v":1,"flow":{"terms":{"event":"evt_01a1dc8161487c00bac62a0adabf79c7","kind":"payout.ready","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc8161487c00bac62a0adabf79c7\",\"source\":\"bursar\",\"type\":\"payout.ready\",\"subject\":\"po_01a1dc816148791389c3926556f3a32c\",\"time\":\"2026-11-15T00:00:29Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":1,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payout\",\"id\":\"po_01a1dc816148791389c3926556f3a32c\",\"status\":\"READY\",\"final\":false,\"version\":1,\"merchant_id\":\"m1\",\"amount\":\"7.00\",\"fee\":\"0.50\",\"vat\":\"0.05\",\"currency\":\"PKR\",\"channel\":\"wallet\",\"reference\":\"01a1dc81-6148-7c2a-a8d6-466f875a0e13\",\"trace_id\":\"trace-case\",\"created_at\":\"2026-11-15T00:00:29Z\",\"updated_at\":\"2026-11-15T00:00:29Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:29Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}', 1794700829000000, 1794700829000000);
INSERT INTO public.flows VALUES ('01a1dc81-6148-7913-89c3-926556f3a32c', 'payout', 'm1', 'SUCCESS', 3, 3, '{"v":1,"flow":{"terms":{"funds":{"merchant":"m1","bank":"b1","currency":"PKR","amount":700,"fee":50,"vat":5},"channel":"wallet","beneficiary":{"name":"A. Khan","msisdn":"923001234567"},"remarks":{"trace_id":"trace-case"}},"attempts":[{"number":1,"reference":"01a1dc81-6148-7c2a-a8d6-466f875a0e13","tries":0,"sent_by":null,"evidence":[[{"source":"callback","verdict":"paid","provider_reference":"P-1"},"2026-11-15T00:00:30Z"],[{"source":"callback","verdict":{"not_paid":{"is_retryable":false}},"provider_reference":"P-1"},"2026-11-15T00:00:31Z"]]}],"state":"success","settled":1,"case":"contradicted","hold_epoch":1}}', 1794700829000000, 1794700831000000);
INSERT INTO public.flows VALUES ('01a1dc81-6530-7cf2-b4c2-86e17a3841aa', 'delivery', 'm1', 'PENDING', 1, 0, '{"v":1,"flow":{"terms":{"event":"evt_01a1dc8165307cf28f7b647595210ddd","kind":"payout.success","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc8165307cf28f7b647595210ddd\",\"source\":\"bursar\",\"type\":\"payout.success\",\"subject\":\"po_01a1dc816148791389c3926556f3a32c\",\"time\":\"2026-11-15T00:00:30Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":2,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payout\",\"id\":\"po_01a1dc816148791389c3926556f3a32c\",\"status\":\"SUCCESS\",\"final\":true,\"version\":2,\"merchant_id\":\"m1\",\"amount\":\"7.00\",\"fee\":\"0.50\",\"vat\":\"0.05\",\"currency\":\"PKR\",\"channel\":\"wallet\",\"reference\":\"01a1dc81-6148-7c2a-a8d6-466f875a0e13\",\"trace_id\":\"trace-case\",\"created_at\":\"2026-11-15T00:00:29Z\",\"updated_at\":\"2026-11-15T00:00:30Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:30Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}', 1794700830000000, 1794700830000000);
INSERT INTO public.flows VALUES ('01a1dc81-6918-7d56-8b26-e8031add2141', 'delivery', 'm1', 'PENDING', 1, 0, '{"v":1,"flow":{"terms":{"event":"evt_01a1dc8169187d56a9e172241f223844","kind":"payout.success","endpoint":"we_01a1dc80f0007886b762036f91fff5ec","body":"{\"specversion\":\"1.0\",\"id\":\"evt_01a1dc8169187d56a9e172241f223844\",\"source\":\"bursar\",\"type\":\"payout.success\",\"subject\":\"po_01a1dc816148791389c3926556f3a32c\",\"time\":\"2026-11-15T00:00:31Z\",\"datacontenttype\":\"application/json\",\"merchant_id\":\"m1\",\"sequence\":3,\"version\":\"2024-01-01\",\"data\":{\"kind\":\"payout\",\"id\":\"po_01a1dc816148791389c3926556f3a32c\",\"status\":\"SUCCESS\",\"final\":true,\"version\":3,\"merchant_id\":\"m1\",\"amount\":\"7.00\",\"fee\":\"0.50\",\"vat\":\"0.05\",\"currency\":\"PKR\",\"channel\":\"wallet\",\"reference\":\"01a1dc81-6148-7c2a-a8d6-466f875a0e13\",\"reason\":\"contradicted\",\"trace_id\":\"trace-case\",\"created_at\":\"2026-11-15T00:00:29Z\",\"updated_at\":\"2026-11-15T00:00:31Z\"}}"},"state":{"pending":{"due":"2026-11-15T00:00:31Z"}},"attempts":0,"before":0,"is_replayed":false,"history":[]}}', 1794700831000000, 1794700831000000);
INSERT INTO public.freezes VALUES ('{"channel":"bank"}', '{"reason":"a leak","actor":"ops1","since":"2026-11-15T00:00:23Z","lifted_by":{"actor":"ops2","is_approver":true}}');
INSERT INTO public.freezes VALUES ('{"merchant":"m9"}', '{"reason":"a leak","actor":"ops1","since":"2026-11-15T00:00:22Z"}');
INSERT INTO public.head VALUES (1, 31, 1794700831000000, '\x07e405609c0e2dab7222428d2fdf48fd0862cd27238f6267e93beb4db387a2ac', 3, 4);
INSERT INTO public.holds VALUES (2010, 'po_01a1dc812e80798d8aa89be74a4d07db', 'holds:payout:m1:PKR', 'PKR', 1055, 1, NULL);
INSERT INTO public.holds VALUES (2010, 'po_01a1dc8132687dd19fc2dc5f4c9af557', 'holds:payout:m1:PKR', 'PKR', 1055, 1, NULL);
INSERT INTO public.holds VALUES (2010, 'po_01a1dc812a9875258c9f45b4f9a1d6b2', 'holds:payout:m1:PKR', 'PKR', 1055, 1, '01a1dc81-3a38-7712-9e66-50fdc80b53b4');
INSERT INTO public.holds VALUES (2010, 'po_01a1dc813e207fe5a819aaaf1180ef01', 'holds:payout:m1:PKR', 'PKR', 1055, 1, '01a1dc81-4208-75b4-b4f1-a64fb9892b94');
INSERT INTO public.holds VALUES (2010, 'po_01a1dc8155907eaa97892de4b82456d8', 'holds:payout:m1:PKR', 'PKR', 755, 1, NULL);
INSERT INTO public.holds VALUES (2010, 'po_01a1dc816148791389c3926556f3a32c', 'holds:payout:m1:PKR', 'PKR', 755, 1, '01a1dc81-6530-7524-be43-5965c1cb3281');
INSERT INTO public.keys VALUES ('\xd052bf662a9e8ffa28653ff0901667e7', 'm1', 'one', '\x8f667f1840748d1562691aa777bd1e14021aaa09f3fa1b46753b8bce27df23a4', '01a1dc81-2a98-7525-8c9f-45b4f9a1d6b2', '{"kind":"payout","id":"po_01a1dc812a9875258c9f45b4f9a1d6b2","status":"READY","final":false,"version":1,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-2a98-78a6-a631-033df9b9cbd2","created_at":"2026-11-15T00:00:15Z","updated_at":"2026-11-15T00:00:15Z"}');
INSERT INTO public.keys VALUES ('\xb5036fe2dbfe4ec7cf2a7126529f4b33', 'm1', 'two', '\x8f667f1840748d1562691aa777bd1e14021aaa09f3fa1b46753b8bce27df23a4', '01a1dc81-2e80-798d-8aa8-9be74a4d07db', '{"kind":"payout","id":"po_01a1dc812e80798d8aa89be74a4d07db","status":"READY","final":false,"version":1,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-2e80-777a-bb35-4b358982ebb4","created_at":"2026-11-15T00:00:16Z","updated_at":"2026-11-15T00:00:16Z"}');
INSERT INTO public.keys VALUES ('\xf89072386dc21c80c2ec0e1a68999c60', 'm1', 'three', '\x8f667f1840748d1562691aa777bd1e14021aaa09f3fa1b46753b8bce27df23a4', '01a1dc81-3268-7dd1-9fc2-dc5f4c9af557', '{"kind":"payout","id":"po_01a1dc8132687dd19fc2dc5f4c9af557","status":"READY","final":false,"version":1,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-3268-70ca-a1a9-dded48bf592b","created_at":"2026-11-15T00:00:17Z","updated_at":"2026-11-15T00:00:17Z"}');
INSERT INTO public.keys VALUES ('\x72316df06d3de8123d43c26123a26b4d', 'm1', 'four', '\x8f667f1840748d1562691aa777bd1e14021aaa09f3fa1b46753b8bce27df23a4', '01a1dc81-3e20-7fe5-a819-aaaf1180ef01', '{"kind":"payout","id":"po_01a1dc813e207fe5a819aaaf1180ef01","status":"READY","final":false,"version":1,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-3e20-7e13-a6df-98a2d6071a13","created_at":"2026-11-15T00:00:20Z","updated_at":"2026-11-15T00:00:20Z"}');
INSERT INTO public.keys VALUES ('\xc7bc63db43f304d17b5168292d5344b6', 'm1', 'five', '\xcbbec005b4b62cad567f351887ba9693f1d7a3c7c7fe7ff1151631aa55fe43ba', '01a1dc81-3e20-7fe5-a819-aaaf1180ef01', '{"kind":"payout","id":"po_01a1dc813e207fe5a819aaaf1180ef01","status":"CANCELLED","final":true,"version":2,"merchant_id":"m1","amount":"10.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-3e20-7e13-a6df-98a2d6071a13","created_at":"2026-11-15T00:00:20Z","updated_at":"2026-11-15T00:00:21Z"}');
INSERT INTO public.keys VALUES ('\x5bf5fbaf3a8246e35dffce404d05e076', 'm1', 'stuck', '\xe7a4d6f5cfdab2c1675d66b619a412379147c7fd6fa676fd7c34ceb5bfcd62ef', '01a1dc81-5590-7eaa-9789-2de4b82456d8', '{"kind":"payout","id":"po_01a1dc8155907eaa97892de4b82456d8","status":"READY","final":false,"version":1,"merchant_id":"m1","amount":"7.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-5590-7d70-a632-3b8136c3adfd","trace_id":"trace-stuck","created_at":"2026-11-15T00:00:26Z","updated_at":"2026-11-15T00:00:26Z"}');
INSERT INTO public.keys VALUES ('\x860ed5fbacbe076e6fd1c89a4fd59e0a', 'm1', 'case', '\x60fa1458a31775ae189be7db2bebd2bf5bcd23e93b18b4c5df7620ea7549012c', '01a1dc81-6148-7913-89c3-926556f3a32c', '{"kind":"payout","id":"po_01a1dc816148791389c3926556f3a32c","status":"READY","final":false,"version":1,"merchant_id":"m1","amount":"7.00","fee":"0.50","vat":"0.05","currency":"PKR","channel":"wallet","reference":"01a1dc81-6148-7c2a-a8d6-466f875a0e13","trace_id":"trace-case","created_at":"2026-11-15T00:00:29Z","updated_at":"2026-11-15T00:00:29Z"}');
INSERT INTO public.refinery_schema_history VALUES (1, 'ledger', '2026-11-18T03:38:50.18893762Z', '5381330369425547901');
INSERT INTO public.refinery_schema_history VALUES (2, 'flows', '2026-11-18T03:38:50.264113551Z', '17902693907329549232');
INSERT INTO public.refinery_schema_history VALUES (3, 'postings_by_account', '2026-11-18T03:38:50.321777391Z', '15680736774365864946');
INSERT INTO public.refinery_schema_history VALUES (4, 'control', '2026-11-18T03:38:50.332046452Z', '13448630313220104111');
INSERT INTO public.refinery_schema_history VALUES (5, 'registry', '2026-11-18T03:38:50.344519972Z', '4286918841586229055');
INSERT INTO public.refinery_schema_history VALUES (6, 'byte_order', '2026-11-18T03:38:50.356083556Z', '4609071661063162951');
INSERT INTO public.refinery_schema_history VALUES (7, 'sleeping', '2026-11-18T03:38:50.404745836Z', '11318085274689538134');
INSERT INTO public.refinery_schema_history VALUES (8, 'postings_packed', '2026-11-18T03:38:50.412079352Z', '9545027832515094992');
INSERT INTO public.refinery_schema_history VALUES (9, 'merchants_version', '2026-11-18T03:38:50.440118031Z', '12527428382955765964');
INSERT INTO public.refinery_schema_history VALUES (10, 'small_samples', '2026-11-18T03:38:50.44408165Z', '5075497867787533139');
INSERT INTO public.registry VALUES ('webhook_endpoint', 'we_01a1dc80f0007886b762036f91fff5ec', 'm1', 1, '{"merchant":"m1","settings":{"url":"https://merchant.example/hooks","event_types":["*"],"version":"2024-01-01","header_names":[],"concurrency":2},"status":"enabled","secrets":[{"sealed":"sealed"}],"told":0}', 1794700803000000, 1794700803000000);
INSERT INTO public.registry VALUES ('merchant', 'm1', 'm1', 4, '{"name":"Shop m1","status":"open","subscriptions":[{"endpoint":"we_01a1dc80f0007886b762036f91fff5ec","event_types":["*"],"version":"2024-01-01"}]}', 1794700802000000, 1794700805000000);
INSERT INTO public.registry VALUES ('webhook_endpoint', 'we_01a1dc80f0007874a386d5ec2fadb8a6', 'm1', 2, '{"merchant":"m1","settings":{"url":"https://merchant.example/hooks","event_types":["payout.success"],"version":"2024-01-01","header_names":[],"concurrency":2},"status":{"disabled":{"reason":"it is moved","at":"2026-11-15T00:00:05Z"}},"secrets":[{"sealed":"sealed"}],"told":0}', 1794700804000000, 1794700805000000);
INSERT INTO public.registry VALUES ('beneficiary', 'ben_01a1dc8107707f84ba91ff5793259c82', 'm1', 1, '{"merchant":"m1","details":{"name":"A. Khan","msisdn":"923001234567"}}', 1794700806000000, 1794700806000000);
INSERT INTO public.registry VALUES ('api_key', 'key_07070707070707070707070707070707', 'm1', 2, '{"name":"till 7","role":"merchant","merchant":"m1","digest":"0707070707070707070707070707070707070707070707070707070707070707","revoked_at":"2026-11-15T00:00:08Z"}', 1794700807000000, 1794700808000000);
INSERT INTO public.registry VALUES ('alert', 'stuck', '', 2, '{"is_raised":false,"detail":""}', 1794700809000000, 1794700810000000);
INSERT INTO public.transactions VALUES ('01a1dc80-f3e8-79bb-a662-42757a956f1c', '01a1dc80-f3e8-75fd-98e0-4ead0f5256e3', 0, 'ADJUSTMENT_CREDIT', 'start', '\xd64f26466265e23dfe492546e9c01cdf000042ab1b3cddf08b304526631d4ba0', '\x1d32c61bed7908cc76c99bece6531a18dac850936bfe5c4704de81f7921a6a4b', 1794700801000000, NULL, '[["world","expenses:adjustment:PKR","PKR",25000],["world","merchants:m1:available:PKR","PKR",25000]]');
INSERT INTO public.transactions VALUES ('01a1dc81-1ee0-76b8-9a77-ececee89ad66', '01a1dc81-1ee0-72ca-94a0-191ff5c4531c', 0, 'PAYIN_COLLECTION', 'pi_01a1dc811af87d15aaa37d3468ee2df3', '\xc82b7ae999e23b9c355bbe6720d73c8e0e4fb1ed7d5cc3a7f0190d5c12867fb3', '\x1d32c61bed7908cc76c99bece6531a18dac850936bfe5c4704de81f7921a6a4b', 1794700812000000, NULL, '[["world","assets:bank:main:PKR","PKR",10000],["world","merchants:m1:available:PKR","PKR",10000]]');
INSERT INTO public.transactions VALUES ('01a1dc81-2a98-72b2-a4f7-480bd92ad0dc', '01a1dc81-2a98-7303-bbaa-085ff683d784', 0, 'PAYOUT_RESERVE', 'po_01a1dc812a9875258c9f45b4f9a1d6b2', '\x3a487d67558829eac5c945089579a639173bb0c20b282d4a8279be01633ba893', '\x1d32c61bed7908cc76c99bece6531a18dac850936bfe5c4704de81f7921a6a4b', 1794700815000000, NULL, '[["merchants:m1:available:PKR","holds:payout:m1:PKR","PKR",1055]]');
INSERT INTO public.transactions VALUES ('01a1dc81-2e80-7e54-a8f7-be9c486f9f3e', '01a1dc81-2e80-70fc-a076-36e65a18391c', 0, 'PAYOUT_RESERVE', 'po_01a1dc812e80798d8aa89be74a4d07db', '\x659f1e42d32e23ecdc85d37d3f71bb721ffc6531c696b7d654f3ea956eea311e', '\x1d32c61bed7908cc76c99bece6531a18dac850936bfe5c4704de81f7921a6a4b', 1794700816000000, NULL, '[["merchants:m1:available:PKR","holds:payout:m1:PKR","PKR",1055]]');
INSERT INTO public.transactions VALUES ('01a1dc81-3268-75f5-9a49-85071f5866f8', '01a1dc81-3268-795e-b204-bc186a7fd832', 0, 'PAYOUT_RESERVE', 'po_01a1dc8132687dd19fc2dc5f4c9af557', '\x9c5f7d89c80be79632fb24cbc6fe1961bdb9a080cb99b9ff3b0939b6bb161544', '\x1d32c61bed7908cc76c99bece6531a18dac850936bfe5c4704de81f7921a6a4b', 1794700817000000, NULL, '[["merchants:m1:available:PKR","holds:payout:m1:PKR","PKR",1055]]');
INSERT INTO public.transactions VALUES ('01a1dc81-3a38-7712-9e66-50fdc80b53b4', '01a1dc81-3a38-7afd-84a8-e99bef2945d0', 0, 'PAYOUT_SETTLE', 'po_01a1dc812a9875258c9f45b4f9a1d6b2', '\x34d4313d734e843b47330d81519b24532d709d23a19afb72ff108ea4298ebfa1', '\x1d32c61bed7908cc76c99bece6531a18dac850936bfe5c4704de81f7921a6a4b', 1794700819000000, NULL, '[["holds:payout:m1:PKR","world","PKR",1000],["assets:bank:b1:PKR","world","PKR",1000],["holds:payout:m1:PKR","revenue:payout:PKR","PKR",50],["holds:payout:m1:PKR","liabilities:vat:PKR","PKR",5]]');
INSERT INTO public.transactions VALUES ('01a1dc81-3e20-7c66-b8df-02701d289026', '01a1dc81-3e20-7d6a-99e8-e5479bb8d626', 0, 'PAYOUT_RESERVE', 'po_01a1dc813e207fe5a819aaaf1180ef01', '\x720c0577e092710bfcb097071533e5d0060de194642e926020703181ad94fa3d', '\x1d32c61bed7908cc76c99bece6531a18dac850936bfe5c4704de81f7921a6a4b', 1794700820000000, NULL, '[["merchants:m1:available:PKR","holds:payout:m1:PKR","PKR",1055]]');
INSERT INTO public.transactions VALUES ('01a1dc81-4208-75b4-b4f1-a64fb9892b94', '01a1dc81-4208-7933-a326-22aa51e507bb', 0, 'PAYOUT_RELEASE', 'po_01a1dc813e207fe5a819aaaf1180ef01', '\x264032e05d164fb28070b6083958d8eddff3b93396dedb78975b64c9b4150397', '\x1d32c61bed7908cc76c99bece6531a18dac850936bfe5c4704de81f7921a6a4b', 1794700821000000, NULL, '[["holds:payout:m1:PKR","merchants:m1:available:PKR","PKR",1055]]');
INSERT INTO public.transactions VALUES ('01a1dc81-5590-7f3d-acd3-101e5a5ef6f2', '01a1dc81-5590-784b-87b8-2863e3bcf340', 0, 'PAYOUT_RESERVE', 'po_01a1dc8155907eaa97892de4b82456d8', '\xfe6dbc62d8cae9d5f628d22d1ff0695f5ee3c361c33405c974d1506ee0b2caf4', '\x1d32c61bed7908cc76c99bece6531a18dac850936bfe5c4704de81f7921a6a4b', 1794700826000000, NULL, '[["merchants:m1:available:PKR","holds:payout:m1:PKR","PKR",755]]');
INSERT INTO public.transactions VALUES ('01a1dc81-6148-7f23-8763-52ed00d3468d', '01a1dc81-6148-77b3-8a16-25cd9d521cf0', 0, 'PAYOUT_RESERVE', 'po_01a1dc816148791389c3926556f3a32c', '\xdff5c45b7edf4edd37b77478fe5079524c3e697381dc82f76d611b8245922a3a', '\x1d32c61bed7908cc76c99bece6531a18dac850936bfe5c4704de81f7921a6a4b', 1794700829000000, NULL, '[["merchants:m1:available:PKR","holds:payout:m1:PKR","PKR",755]]');
INSERT INTO public.transactions VALUES ('01a1dc81-6530-7524-be43-5965c1cb3281', '01a1dc81-6530-73d5-9fb7-5a9371c612c9', 0, 'PAYOUT_SETTLE', 'po_01a1dc816148791389c3926556f3a32c', '\xfd48fd91dac5ef95a7ddb044e37cfde89af97eb384f43622197ceabc53f530ef', '\x1d32c61bed7908cc76c99bece6531a18dac850936bfe5c4704de81f7921a6a4b', 1794700830000000, NULL, '[["holds:payout:m1:PKR","world","PKR",700],["assets:bank:b1:PKR","world","PKR",700],["holds:payout:m1:PKR","revenue:payout:PKR","PKR",50],["holds:payout:m1:PKR","liabilities:vat:PKR","PKR",5]]');
SELECT pg_catalog.setval('public.chart_lines_line_seq', 6, true);
ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_pkey PRIMARY KEY (address, currency);
ALTER TABLE ONLY public.attempts
    ADD CONSTRAINT attempts_pkey PRIMARY KEY (channel, reference);
ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (commit_id, n);
ALTER TABLE ONLY public.chart_lines
    ADD CONSTRAINT chart_lines_gl_name_class_address_liquidity_view_key UNIQUE (gl, name, class, address, liquidity, view);
ALTER TABLE ONLY public.chart_lines
    ADD CONSTRAINT chart_lines_pkey PRIMARY KEY (line);
ALTER TABLE ONLY public.commits
    ADD CONSTRAINT commits_id_key UNIQUE (id);
ALTER TABLE ONLY public.commits
    ADD CONSTRAINT commits_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY public.due
    ADD CONSTRAINT due_pkey PRIMARY KEY (lane, due_at, flow);
ALTER TABLE ONLY public.entries
    ADD CONSTRAINT entries_pkey PRIMARY KEY (account, commit_id);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (commit_id, n);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_resource_sequence_key UNIQUE (resource, sequence);
ALTER TABLE ONLY public.flows
    ADD CONSTRAINT flows_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.freezes
    ADD CONSTRAINT freezes_pkey PRIMARY KEY (scope);
ALTER TABLE ONLY public.head
    ADD CONSTRAINT head_pkey PRIMARY KEY (one);
ALTER TABLE ONLY public.holds
    ADD CONSTRAINT holds_pkey PRIMARY KEY (gl, reference);
ALTER TABLE ONLY public.keys
    ADD CONSTRAINT keys_digest_key UNIQUE (digest);
ALTER TABLE ONLY public.refinery_schema_history
    ADD CONSTRAINT refinery_schema_history_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.registry
    ADD CONSTRAINT registry_pkey PRIMARY KEY (kind, id);
ALTER TABLE ONLY public.transactions
    ADD CONSTRAINT transactions_commit_id_n_key UNIQUE (commit_id, n);
ALTER TABLE ONLY public.transactions
    ADD CONSTRAINT transactions_event_reference_key UNIQUE (event, reference);
ALTER TABLE ONLY public.transactions
    ADD CONSTRAINT transactions_pkey PRIMARY KEY (id);
CREATE INDEX registry_by_merchant ON public.registry USING btree (kind, merchant, id);
ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_line_fkey FOREIGN KEY (line) REFERENCES public.chart_lines(line);
