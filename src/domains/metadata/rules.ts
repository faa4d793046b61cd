/** Things that customers note pairs on, for their own programs. */
export const metadataKinds = ['order', 'proxy', 'subuser', 'vpn'] as const
export type MetadataKind = (typeof metadataKinds)[number]

/** A customer's own pairs on one thing. */
export type Metadata = Readonly<Record<string, string>>

/** Pairs to set; null removes a key. */
export type MetadataChange = Readonly<Record<string, string | null>>

export const noMetadata: Metadata = {}

export const maxMetadataKeys = 20
export const maxMetadataKey = 40
export const maxMetadataValue = 500

/** Brackets would end the key in `?metadata[KEY]=VALUE`. */
export const isMetadataKey = (text: string): boolean =>
  text.length >= 1 && text.length <= maxMetadataKey && !/[\p{Cc}\p{Cs}[\]]/u.test(text) && text !== '__proto__'

export const isMetadataValue = (text: string): boolean =>
  text.length <= maxMetadataValue && !text.includes('\0') && text.isWellFormed()

/** The pairs after a change: keys that it does not name stay. */
export const changedMetadata = (before: Metadata, change: MetadataChange): Metadata =>
  Object.fromEntries(
    Object.entries({ ...before, ...change }).filter((entry): entry is [string, string] => entry[1] !== null),
  )
