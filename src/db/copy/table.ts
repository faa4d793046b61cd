/** A column, of one of the three types that both engines know. */
export type TableColumn = { readonly name: string; readonly type: 'BIGINT' | 'TEXT' | 'BYTEA' }
export type Table = { readonly name: string; readonly columns: readonly TableColumn[] }

/** One row's values in the order of its table's columns, as both engines give them. */
export type CopiedRow = readonly (string | bigint | Uint8Array | null)[]

export type Insert = (table: Table, rows: readonly CopiedRow[]) => Promise<void>
