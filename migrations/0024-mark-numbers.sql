-- Marks in the order of their commits. Times of marks decide nothing: clocks jump, and those of several shops differ.
ALTER TABLE history_marks ADD COLUMN number BIGINT NOT NULL DEFAULT 0;
CREATE INDEX history_marks_by_number ON history_marks (number, nonce);
