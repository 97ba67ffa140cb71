BEGIN TRANSACTION;
CREATE TABLE entry (
	book TEXT NOT NULL, 
	number BIGINT NOT NULL, 
	at BIGINT NOT NULL, 
	kind TEXT NOT NULL, 
	"table" TEXT, 
	game BIGINT, 
	device TEXT, 
	boot TEXT, 
	seq BIGINT, 
	rules SMALLINT NOT NULL, 
	body TEXT NOT NULL, 
	previous BLOB NOT NULL, 
	hash BLOB NOT NULL, 
	PRIMARY KEY (book, number), 
	CONSTRAINT entry_key UNIQUE (device, boot, seq)
)
 WITHOUT ROWID

;
INSERT INTO "entry" VALUES('main',1,1796162400000000,'init',NULL,NULL,NULL,NULL,NULL,1,'{"environment":"test","made_by":"apply","site":"demo"}',X'0000000000000000000000000000000000000000000000000000000000000000',X'E6A28C271B578F77D684C818D643B85C02D253E44CE87471FEB81930E699939C');
INSERT INTO "entry" VALUES('main',2,1796162400000000,'config',NULL,NULL,NULL,NULL,NULL,1,'{"document":{"meter":[{"below_seed":"allow","id":"pg-link","limit":"none","name":"Face Up Pai Gow Link","order":"partials-first","overflow":"next-meter","part":"main","paytable":"progressive-4","reserve_surplus":"keep","rounding":"up","tie_policy":"split","unreasonable_contribution":"$10.00"},{"below_seed":"top-up","id":"pg-solo","limit":"$250,000.00","name":"Face Up Pai Gow Solo","order":"pay-order","overflow":"next-meter","part":"main","paytable":"progressive-1","reserve_surplus":"keep","rounding":"down","tie_policy":"sequential","unreasonable_contribution":"$5.00"}],"paytable":{"progressive-1":{"citation":"58 Pa. Code \u00a7 688a.12(d), Paytable 1","game":"face-up-pai-gow-poker","id":"progressive-1","joker":"standard","meter":{"main":{"rate_of_progression":"28%","reserve_rate":"0%","seed":"$10,000.00"}},"prize":[{"label":"7 card straight flush","outcome":"7-card-straight-flush","share":{"main":"100%"}},{"label":"Five aces","outcome":"five-aces","share":{"main":"10%"}},{"label":"Royal flush","outcome":"royal-flush","pay":"$500.00"},{"label":"Straight flush","outcome":"straight-flush","pay":"$100.00"},{"label":"Four-of-a-kind","outcome":"four-of-a-kind","pay":"$75.00"},{"label":"Full house","outcome":"full-house","pay":"$4.00"}],"seven_card_straight_flush_includes_joker":true,"title":"Progressive, paytable 1","wager":"$1.00","wager_returned":false},"progressive-4":{"citation":"58 Pa. Code \u00a7 688a.12(d), Paytable 4","game":"face-up-pai-gow-poker","id":"progressive-4","joker":"standard","meter":{"main":{"rate_of_progression":"1%","reserve_rate":"1%","seed":"$10,000.00"}},"prize":[{"envy":"$1,000.00","label":"7 card straight flush","outcome":"7-card-straight-flush","pay":"$5,000.00","share":{"main":"100%"}},{"envy":"$750.00","label":"Royal flush + royal match","outcome":"royal-flush-royal-match","pay":"$5,000.00","share":{"main":"20%"}},{"envy":"$250.00","label":"7 card straight flush w/joker","outcome":"7-card-straight-flush-with-joker","pay":"$5,000.00","share":{"main":"10%"}},{"envy":"$100.00","label":"Five aces","outcome":"five-aces","pay":"$2,500.00"},{"envy":"$50.00","label":"Royal flush","outcome":"royal-flush","pay":"$500.00"},{"envy":"$20.00","label":"Straight flush","outcome":"straight-flush","pay":"$200.00"},{"envy":"$5.00","label":"Four-of-a-kind","outcome":"four-of-a-kind","pay":"$100.00"}],"title":"Progressive, paytable 4","wager":"$5.00","wager_returned":true}},"site":{"currency":"USD","environment":"test","gaming_day_start":"06:00","id":"demo","name":"Demo Casino","timezone":"America/New_York"},"table":[{"device":"hub-01","envy_hand":"any-player","id":"PG-01","pay_order":[1,2,3,4,5,6],"seats":6,"spot":[{"id":"progressive","meters":{"main":"pg-link"},"paytable":"progressive-4"}]},{"device":"hub-02","envy_hand":"any-player","id":"PG-02","pay_order":[6,5,4,3,2,1],"seats":6,"spot":[{"id":"progressive","meters":{"main":"pg-link"},"paytable":"progressive-4"}]},{"device":"hub-03","id":"PG-03","pay_order":[1,2,3,4,5,6,7],"seats":7,"spot":[{"id":"progressive","meters":{"main":"pg-solo"},"paytable":"progressive-1"}]}]},"hash":"1a44b53a5f4db1bd747462e5e2ebb00625d1e836bae078a78768c4989478b35d"}',X'E6A28C271B578F77D684C818D643B85C02D253E44CE87471FEB81930E699939C',X'B88C65EEE7C44D4DD600FA449D8793461592795D97171B630BBE0663BC56626E');
INSERT INTO "entry" VALUES('main',3,1796162400000000,'opening',NULL,NULL,NULL,NULL,NULL,1,'{"base_cents":1000000,"meter":"pg-link","seed_cents":1000000}',X'B88C65EEE7C44D4DD600FA449D8793461592795D97171B630BBE0663BC56626E',X'C645EB48B921DE23619F8FD38BDE83C4A2EF42F2B0E8329119A0E88285350968');
INSERT INTO "entry" VALUES('main',4,1796162400000000,'opening',NULL,NULL,NULL,NULL,NULL,1,'{"base_cents":1000000,"meter":"pg-solo","seed_cents":1000000}',X'C645EB48B921DE23619F8FD38BDE83C4A2EF42F2B0E8329119A0E88285350968',X'49FDCE695AD287E0AC01052435A70165AC258F62B4DA2A3055A9D274A168D8F2');
INSERT INTO "entry" VALUES('main',5,1796162400000000,'lock','PG-01',1,'hub-01','b1',1,1,'{"message":{"round":1,"type":"lock","wagers":[{"cents":500,"seat":1,"spot":"progressive"},{"cents":500,"seat":2,"spot":"progressive"},{"cents":500,"seat":3,"spot":"progressive"}]},"opened":true}',X'49FDCE695AD287E0AC01052435A70165AC258F62B4DA2A3055A9D274A168D8F2',X'C32B183ADFAB880382261974514B89A4DE06C5E9D7C524FCD1F3413EAD0F4BF4');
INSERT INTO "entry" VALUES('main',6,1796162400000000,'hits','PG-01',1,'hub-01','b1',2,1,'{"message":{"hits":[{"outcome":"7-card-straight-flush","seat":2,"spot":"progressive"}],"round":1,"type":"hits"},"awards":[{"fixed":500000,"meters":{"main":1000015},"outcome":"7-card-straight-flush","returned":500,"seat":2,"spot":"progressive"}],"envy":[{"cents":100000,"seat":1},{"cents":100000,"seat":3}],"settled":{"pg-link":{"apart":false,"from":[1000015000000,15000000,0],"house":999985000000,"since":[0,0],"to":[1000000000000,0,0]}}}',X'C32B183ADFAB880382261974514B89A4DE06C5E9D7C524FCD1F3413EAD0F4BF4',X'0B0BFAFE4C6169782D4AC567A5BDA797DF49599E4757AF3F7FD0F7B275298BE4');
INSERT INTO "entry" VALUES('main',7,1796162400000000,'close','PG-01',1,'hub-01','b1',3,1,'{"message":{"round":1,"type":"close"}}',X'0B0BFAFE4C6169782D4AC567A5BDA797DF49599E4757AF3F7FD0F7B275298BE4',X'F2C985A8966F1B44E49539E6866688E6813468D8955EC54DB4995AD8E351C642');
INSERT INTO "entry" VALUES('main',8,1796162400000000,'lock','PG-01',2,'hub-01','b1',4,1,'{"message":{"round":2,"type":"lock","wagers":[{"cents":500,"seat":1,"spot":"progressive"},{"cents":500,"seat":2,"spot":"progressive"}]},"opened":true}',X'F2C985A8966F1B44E49539E6866688E6813468D8955EC54DB4995AD8E351C642',X'BB8E237C21DBF4141E831E3F4E3FFD2546F8C69D393FF137D4C4DB3A5E8F60EB');
INSERT INTO "entry" VALUES('main',9,1796162400000000,'hits','PG-01',2,'hub-01','b1',5,1,'{"message":{"hits":[{"outcome":"royal-flush-royal-match","seat":1,"spot":"progressive"}],"round":2,"type":"hits"},"awards":[{"fixed":500000,"meters":{"main":200002},"outcome":"royal-flush-royal-match","returned":500,"seat":1,"spot":"progressive"}],"envy":[{"cents":75000,"seat":2}],"settled":{"pg-link":{"apart":false,"from":[1000010000000,10000000,0],"house":0,"since":[0,0],"to":[800008000000,10000000,0]}}}',X'BB8E237C21DBF4141E831E3F4E3FFD2546F8C69D393FF137D4C4DB3A5E8F60EB',X'7D675542FC65AEED95608901E4D55CA003C567CEB41516A93880AF66CA15F80B');
INSERT INTO "entry" VALUES('main',10,1796162400000000,'count','PG-01',2,'hub-01','b1',6,1,'{"message":{"chips":2,"round":2,"type":"count"},"accepted":2}',X'7D675542FC65AEED95608901E4D55CA003C567CEB41516A93880AF66CA15F80B',X'E8A8B336F87CBF89BC96B269E861861222FEE053BCAA6014310629D54580C49F');
CREATE TABLE migration (
	version SMALLINT NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "migration" VALUES(1);
CREATE TABLE posting (
	book TEXT NOT NULL, 
	entry BIGINT NOT NULL, 
	line SMALLINT NOT NULL, 
	meter TEXT NOT NULL, 
	account TEXT NOT NULL, 
	microcents BIGINT NOT NULL, 
	balance BIGINT NOT NULL, 
	PRIMARY KEY (book, entry, line)
)
 WITHOUT ROWID

;
INSERT INTO "posting" VALUES('main',3,0,'pg-link','house',-1000000000000,-1000000000000);
INSERT INTO "posting" VALUES('main',3,1,'pg-link','display',1000000000000,1000000000000);
INSERT INTO "posting" VALUES('main',4,0,'pg-solo','house',-1000000000000,-1000000000000);
INSERT INTO "posting" VALUES('main',4,1,'pg-solo','display',1000000000000,1000000000000);
INSERT INTO "posting" VALUES('main',5,0,'pg-link','players',-30000000,-30000000);
INSERT INTO "posting" VALUES('main',5,1,'pg-link','display',15000000,1000015000000);
INSERT INTO "posting" VALUES('main',5,2,'pg-link','reserve',15000000,15000000);
INSERT INTO "posting" VALUES('main',6,0,'pg-link','display',-15000000,1000000000000);
INSERT INTO "posting" VALUES('main',6,1,'pg-link','reserve',-15000000,0);
INSERT INTO "posting" VALUES('main',6,2,'pg-link','pending',1000015000000,1000015000000);
INSERT INTO "posting" VALUES('main',6,3,'pg-link','house',-999985000000,-1999985000000);
INSERT INTO "posting" VALUES('main',8,0,'pg-link','players',-20000000,-50000000);
INSERT INTO "posting" VALUES('main',8,1,'pg-link','display',10000000,1000010000000);
INSERT INTO "posting" VALUES('main',8,2,'pg-link','reserve',10000000,10000000);
INSERT INTO "posting" VALUES('main',9,0,'pg-link','display',-200002000000,800008000000);
INSERT INTO "posting" VALUES('main',9,1,'pg-link','pending',200002000000,1200017000000);
CREATE TABLE state (
	book TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	number BIGINT NOT NULL, 
	body TEXT NOT NULL, 
	PRIMARY KEY (book, kind, "key")
)
 WITHOUT ROWID

;
INSERT INTO "state" VALUES('main','award','PG-01/1',10,'{"awards":[{"fixed":500000,"meters":{"main":1000015},"outcome":"7-card-straight-flush","returned":500,"seat":2,"spot":"progressive"}],"entry":6,"envy":[{"cents":100000,"seat":1},{"cents":100000,"seat":3}]}');
INSERT INTO "state" VALUES('main','award','PG-01/2',10,'{"awards":[{"fixed":500000,"meters":{"main":200002},"outcome":"royal-flush-royal-match","returned":500,"seat":1,"spot":"progressive"}],"entry":9,"envy":[{"cents":75000,"seat":2}]}');
INSERT INTO "state" VALUES('main','book','main',10,'{"awards_pending":2,"stopped":""}');
INSERT INTO "state" VALUES('main','boot','hub-01/b1',10,'{"faults":[],"heard":5,"held":{},"newest":2,"next":7,"recount":false,"wagers_total":5}');
INSERT INTO "state" VALUES('main','head','main',10,'{"hash":"e8a8b336f87cbf89bc96b269e861861222fee053bcaa6014310629d54580c49f","number":10}');
INSERT INTO "state" VALUES('main','meter','pg-link',10,'{"display":800008000000,"house":-1999985000000,"kept":{"PG-01":[1000010000000,10000000,0,0,0,0,false]},"overflow":0,"paid":0,"pending":1200017000000,"players":-50000000,"reserve":10000000,"rows":{"7-card-straight-flush":[1,1000015,500000,500,200000],"royal-flush-royal-match":[1,200002,500000,500,75000]},"wagers":5}');
INSERT INTO "state" VALUES('main','meter','pg-solo',4,'{"display":1000000000000,"house":-1000000000000,"kept":{},"overflow":0,"paid":0,"pending":0,"players":0,"reserve":0,"rows":{},"wagers":0}');
INSERT INTO "state" VALUES('main','table','PG-01',10,'{"games":2,"latest_heard":5,"loss":null,"open":{"boot":"b1","chips":2,"fed":{"pg-link":20000000},"game":2,"hits":[[1,"progressive","royal-flush-royal-match",false,{"main":200002}]],"plan_entry":2,"round":2,"wagers":[[1,"progressive",500],[2,"progressive",500]]}}');
CREATE INDEX entry_seldom ON entry (book, number, kind) WHERE kind NOT IN ('lock', 'count', 'close', 'held', 'heard');
CREATE INDEX state_latest ON state (book, kind, number);
COMMIT;
