-- The postings of one account in order of time, so that its statement is read without all the others. The world is on one
-- side of most postings and is nobody's account.

CREATE INDEX postings_by_source ON postings (source, tx) WHERE source <> 'world';

CREATE INDEX postings_by_destination ON postings (destination, tx) WHERE destination <> 'world';
