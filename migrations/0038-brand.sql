-- The operator's brand: texts by name, and by language where they have one. A missing row has the default.
CREATE TABLE brand_texts (
  name TEXT NOT NULL,
  language TEXT NOT NULL CHECK (language IN ('', 'en', 'ru')),
  text TEXT NOT NULL,
  changed_at BIGINT NOT NULL,
  PRIMARY KEY (name, language)
);

-- The logo and the icon, at most 32 KiB each.
CREATE TABLE brand_images (
  name TEXT PRIMARY KEY CHECK (name IN ('logo', 'icon')),
  type TEXT NOT NULL,
  content BYTEA NOT NULL,
  changed_at BIGINT NOT NULL
);
