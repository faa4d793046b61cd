/** A record as names and values; what is deeper is written as JSON. */
export const toFacts = (record: object): readonly (readonly [string, string])[] =>
  Object.entries(record).map(([name, value]: [string, unknown]) => [
    name,
    typeof value === 'string' || typeof value === 'number' ? String(value) : JSON.stringify(value),
  ])
