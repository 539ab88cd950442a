-- Bodies stand apart from what is said about them: a new verdict must not rewrite the text.
CREATE TABLE texts (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  text TEXT NOT NULL
);
CREATE VIRTUAL TABLE search USING fts5 (
  text, content = 'texts', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
);
CREATE TABLE items (
  id INTEGER PRIMARY KEY REFERENCES texts,
  digest BLOB NOT NULL,          -- of the text as it is
  folded BLOB NOT NULL,          -- of the text without case and white space: repeats share it
  source TEXT NOT NULL,
  added REAL NOT NULL,
  label TEXT,
  labelled_by TEXT,
  labelled_at REAL,
  state TEXT NOT NULL DEFAULT '',  -- '', 'unsure', 'skipped' or 'confirmed'
  verdict TEXT,
  probability REAL,
  margin REAL,                   -- probability of the verdict less that of its nearest rival
  disagreement REAL,             -- how far the verdict's probability is from a second family's
  version TEXT,
  date REAL,                     -- days since 1970, where the file has a column of dates
  file INTEGER,                  -- the import that it came with
  drawn TEXT NOT NULL DEFAULT '' -- how it came to be labelled here: 'random', or 'chosen' because a model was unsure
);
CREATE INDEX items_digest ON items (digest);
CREATE INDEX items_folded ON items (folded, label);
CREATE INDEX items_label ON items (label, id);
CREATE INDEX items_verdict ON items (verdict, id);
CREATE INDEX items_margin ON items (state, margin) WHERE label IS NULL;
CREATE INDEX items_disagreement ON items (state, disagreement) WHERE label IS NULL;
CREATE INDEX items_file ON items (file);
CREATE INDEX items_waiting ON items (state, id) WHERE label IS NULL;

-- Near repeats: keys made of the least hashes of a text's words; texts that share most of their words share a key.
CREATE TABLE sketches (key INTEGER, id INTEGER, PRIMARY KEY (key, id)) WITHOUT ROWID;

CREATE TABLE events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id INTEGER NOT NULL,
  action TEXT NOT NULL,          -- import, learn, forget, rename, unsure, skip, confirm, undo
  old TEXT,
  new TEXT,
  who TEXT NOT NULL,
  at REAL NOT NULL,
  undone INTEGER NOT NULL DEFAULT 0,
  step INTEGER,                  -- the first event of what was done at once, which is undone at once
  was TEXT NOT NULL DEFAULT ''   -- the state before
);
CREATE INDEX events_step ON events (step);
CREATE INDEX events_id ON events (id, seq);
CREATE INDEX events_who ON events (who, seq);

CREATE TABLE verdicts (
  number INTEGER PRIMARY KEY,
  id INTEGER NOT NULL,
  verdict TEXT NOT NULL,
  probability REAL NOT NULL,
  version TEXT NOT NULL,
  at REAL NOT NULL
);
CREATE INDEX verdicts_id ON verdicts (id, number);

CREATE TABLE models (
  version INTEGER PRIMARY KEY AUTOINCREMENT,
  title TEXT NOT NULL,
  file TEXT NOT NULL,
  made REAL NOT NULL,
  learned INTEGER NOT NULL,      -- the last event that the model has seen
  updates INTEGER NOT NULL DEFAULT 0,
  texts INTEGER NOT NULL,
  brought INTEGER NOT NULL,      -- 1: came as a file; its training texts are not here
  facts TEXT NOT NULL
);
CREATE TABLE held_out (
  version INTEGER NOT NULL,
  id INTEGER NOT NULL,
  label TEXT NOT NULL,
  verdict TEXT NOT NULL,
  probability REAL NOT NULL,
  PRIMARY KEY (version, label, verdict, id)
) WITHOUT ROWID;

CREATE TABLE keys (key TEXT PRIMARY KEY, request BLOB NOT NULL, answer TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID;
CREATE INDEX keys_at ON keys (at);
-- A class keeps the key and the colour that it was made with, until somebody moves it.
CREATE TABLE classes (
  name TEXT PRIMARY KEY, place INTEGER NOT NULL, colour INTEGER NOT NULL, about TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE TABLE imports (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,            -- as people see it
  path TEXT NOT NULL,
  stamp TEXT NOT NULL,           -- size and time of change: the same file is not read twice
  who TEXT NOT NULL,
  columns TEXT NOT NULL,         -- JSON: those that were asked for, those that are used, and why
  done INTEGER NOT NULL DEFAULT 0,
  state TEXT NOT NULL,           -- looked, reading, read, failed
  problem TEXT NOT NULL DEFAULT ''
);
CREATE TABLE rules (number INTEGER PRIMARY KEY, phrase TEXT NOT NULL, label TEXT NOT NULL, UNIQUE (phrase, label));
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
