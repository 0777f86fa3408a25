// The words that a search finds users by (ADR 202): the lines of their search texts, in a table with an index.

export type Dialect = 'sqlite' | 'postgres';

/** Users without words to search by (ADR 202): the search text of earlier versions does not begin with a line break. */
export const HAS_NO_WORDS = "coalesce(substr(search_text, 1, 1), '') <> '\n'";

/** The words of a search text. @param row `new` or `old` */
const WORDS_OF: Readonly<Record<Dialect, (row: string) => string>> = {
  sqlite: (row) => `
    SELECT value FROM json_each(CASE substr(${row}.search_text, 1, 2) WHEN char(10) THEN '[]' ELSE
      CASE substr(${row}.search_text, 1, 1) WHEN char(10)
      THEN '["' || replace(substr(${row}.search_text, 2), char(10), '","') || '"]' ELSE '[]' END END)`,
  postgres: (row) => `
    SELECT value FROM unnest(string_to_array(substr(${row}.search_text, 2), chr(10))) AS value
    WHERE substr(${row}.search_text, 1, 1) = chr(10)`,
};

const addWords = (dialect: Dialect) => `
  INSERT INTO grantd.people_words (issuer, word, subject)
  SELECT new.issuer, value, new.subject FROM (${WORDS_OF[dialect]('new')}) AS w`;
const removeWords = (dialect: Dialect) => `
  DELETE FROM grantd.people_words
  WHERE issuer = old.issuer AND subject = old.subject AND word IN (${WORDS_OF[dialect]('old')})`;

/** Triggers keep the words beside the search text, also if a program of an earlier version changes it. */
export const WORDS_KEPT: Readonly<Record<Dialect, Readonly<Record<'expand' | 'down', string>>>> = {
  sqlite: {
    expand: `
    CREATE TRIGGER people_words_added AFTER INSERT ON people BEGIN ${addWords('sqlite')}; END;
    CREATE TRIGGER people_words_removed AFTER DELETE ON people BEGIN ${removeWords('sqlite')}; END;
    CREATE TRIGGER people_words_changed AFTER UPDATE OF search_text ON people
      WHEN new.search_text IS NOT old.search_text
      BEGIN ${removeWords('sqlite')}; ${addWords('sqlite')}; END;
    DROP INDEX people_to_search;`,
    down: `
    DROP TRIGGER people_words_added;
    DROP TRIGGER people_words_removed;
    DROP TRIGGER people_words_changed;
    CREATE INDEX people_to_search ON people (issuer, name, search_text);`,
  },
  postgres: {
    expand: `
    CREATE FUNCTION grantd.keep_people_words() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF tg_op = 'UPDATE' AND new.search_text = old.search_text THEN RETURN NULL; END IF;
      IF tg_op <> 'INSERT' THEN ${removeWords('postgres')}; END IF;
      IF tg_op <> 'DELETE' THEN ${addWords('postgres')}; END IF;
      RETURN NULL;
    END $$;
    CREATE TRIGGER people_words AFTER INSERT OR DELETE OR UPDATE OF search_text ON grantd.people
      FOR EACH ROW EXECUTE FUNCTION grantd.keep_people_words();`,
    down: `
    DROP TRIGGER people_words ON grantd.people;
    DROP FUNCTION grantd.keep_people_words();`,
  },
};
