/** Keyset pagination over all items. A short page is the last one; items added past the last key are read too. */
export async function* keysetPages<Item, Key>(
  read: (after: Key, limit: number) => Promise<readonly Item[]>,
  from: { readonly start: Key; readonly size: number; readonly keyOf: (item: Item) => Key },
): AsyncGenerator<readonly Item[], void, undefined> {
  let after = from.start
  for (;;) {
    const page = await read(after, from.size)
    if (page.length > 0) yield page
    const last = page.at(-1)
    if (last === undefined || page.length < from.size) return
    after = from.keyOf(last)
  }
}
