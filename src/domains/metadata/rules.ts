import { refuseField } from '../../core/refusal.ts'

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
/** Of a purchase, which copies its pairs to the order and to each thing that it delivers. */
const maxCopiedBytes = 256 * 1024

/** Brackets would end the key in `?metadata[KEY]=VALUE`. */
export const isMetadataKey = (text: string): boolean =>
  text.length >= 1 && text.length <= maxMetadataKey && !/[\p{Cc}\p{Cs}[\]]/u.test(text) && text !== '__proto__'

export const isMetadataValue = (text: string): boolean =>
  text.length <= maxMetadataValue && !/[\p{Cc}\p{Cs}]/u.test(text)

/** UTF-8 bytes of pairs as JSON, which is how answers, events and webhooks have them. */
export const bytesOf = (pairs: MetadataChange): number => Buffer.byteLength(JSON.stringify(pairs))

/** The most bytes of pairs that a purchase may copy to so many things. */
export const maxBytesFor = (things: number): number => Math.floor(maxCopiedBytes / things)

/** Refuses the pairs of a purchase that would copy too much. */
export function assertCopiesFit(pairs: Metadata, things: number): void {
  const max = maxBytesFor(things)
  if (bytesOf(pairs) > max) throw refuseField('metadata', 'max_json_bytes', { max, things })
}

/** The pairs after a change: keys that it does not name stay. */
export const changedMetadata = (before: Metadata, change: MetadataChange): Metadata =>
  Object.fromEntries(
    Object.entries({ ...before, ...change }).filter((entry): entry is [string, string] => entry[1] !== null),
  )
