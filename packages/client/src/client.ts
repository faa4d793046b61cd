import { type Call, type CallOptions, type ClientOptions, createCall, type Fields, type OperationRow } from './call.ts'
import { type Operations, operations } from './operations.ts'

/** The operations of a shop that a token may call, in groups: `client.dedicated.buy({ … })`. */
export type Client = Operations

export function createClient(options: ClientOptions): Client {
  const call = createCall(options)
  const groups = Object.entries<Readonly<Record<string, OperationRow>>>(operations)
  return Object.fromEntries(
    groups.map(([group, rows]) => [
      group,
      Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, toMethod(call, `${group}.${name}`, row)])),
    ]),
    // The generator writes the types and this table from the same description.
  ) as unknown as Client
}

const toMethod =
  (call: Call, name: string, row: OperationRow) =>
  (input: Fields = {}, options?: CallOptions) =>
    row.items === undefined ? call(name, row, input, options) : everyItem(call, name, row, row.items, input, options)

/** Keyset pagination: each page is requested when its first item is needed, and retried on its own. */
async function* everyItem(
  call: Call,
  name: string,
  row: OperationRow,
  items: string,
  input: Fields,
  options?: CallOptions,
): AsyncGenerator {
  let cursor: unknown = input['cursor']
  do {
    const page = (await call(name, row, { ...input, cursor }, options)) as Record<string, unknown>
    yield* page[items] as readonly unknown[]
    cursor = page['next_cursor'] ?? undefined
  } while (cursor !== undefined)
}
