import { isOfGateways, isQuickOnPortable } from './gateway-tests.ts'

/** Test files that run together, on one engine of the gateway. */
export type Part = {
  readonly name: string
  readonly engine: 'linux' | 'portable'
  /** Reactors of the Linux engine. */
  readonly reactors?: number
  readonly files: readonly string[]
}

/** A long run repeats the gateway tests with so many reactors; otherwise they run with one. */
const otherReactors = [2, 4]

const withReactors = (count: number, files: readonly string[]): Part => ({
  name: `gateways with ${count} reactor${count === 1 ? '' : 's'}`,
  engine: 'linux',
  reactors: count,
  files: files.filter(isOfGateways),
})

const onPortable = (files: readonly string[]): Part => ({ name: 'portable engine', engine: 'portable', files })

const isOfLongRun = (file: string): boolean => file.endsWith('.long.test.ts')

/** Files whose path contains a filter; `*.long.test.ts` only in a long run, or when a filter names one exactly. */
export const chooseFiles = (all: readonly string[], filters: readonly string[], isLong: boolean): string[] =>
  all
    .filter((file) => filters.length === 0 || filters.some((filter) => file.includes(filter.replace(/^\.\//, ''))))
    .filter((file) => isLong || !isOfLongRun(file) || filters.some((filter) => filter.endsWith(file)))
    .toSorted()

/** A long run goes folder by folder, so that each has a time of its own. */
const longParts: readonly { readonly name: string; readonly folders: readonly string[] }[] = [
  { name: 'sources and tools', folders: ['src/', 'tools/'] },
  { name: 'journeys', folders: ['test/journeys/'] },
  { name: 'attacks', folders: ['test/attack/'] },
  { name: 'browser', folders: ['test/browser/'] },
  { name: 'durability', folders: ['test/durability/'] },
  { name: 'backup and verify', folders: ['test/backup/', 'test/verify/'] },
  { name: 'storm', folders: ['test/storm/'] },
  { name: 'failover', folders: ['test/failover/'] },
]

/** Every chosen file is in one part of the Linux engine; gateway tests are in the portable engine's part too. */
export function toParts(files: readonly string[], isLong: boolean): Part[] {
  const isIn = (folders: readonly string[]) => (file: string) => folders.some((folder) => file.startsWith(folder))
  const named = longParts.flatMap(({ folders }) => folders)
  const linux = isLong
    ? [
        ...longParts.map(({ name, folders }) => ({ name, files: files.filter(isIn(folders)) })),
        { name: 'other tests', files: files.filter((file) => !isIn(named)(file)) },
      ]
    : [{ name: 'tests', files }]
  const again = files.filter((file) => isOfGateways(file) && (isLong || isQuickOnPortable(file)))
  const reactors = isLong ? otherReactors : []
  return [
    ...linux.map((part) => ({ ...part, engine: 'linux' as const })),
    ...reactors.map((count) => withReactors(count, files)),
    onPortable(again),
  ].filter((part) => part.files.length > 0)
}

/** The gateway tests alone, with 1, 2 and 4 reactors and on the portable engine, at the counts of a short run. */
export const toGatewayParts = (files: readonly string[]): Part[] =>
  [...[1, ...otherReactors].map((count) => withReactors(count, files)), onPortable(files.filter(isOfGateways))].filter(
    (part) => part.files.length > 0,
  )

/** Parts with files that take many minutes on one processor, while they wait for killed processes. */
const slowParts = ['durability', 'backup and verify', 'storm', 'failover']

/** Parts that run one after the other, `atOnce` files at a time, beside the other lanes. */
export type Lane = { readonly parts: readonly Part[]; readonly atOnce: number }

/**
 * A short run has a lane for each engine, because a process runs its files on one: the portable engine's files, a few
 * per cent of the work, are done long before the others, so that no file runs alone at the end. They have two
 * processes, because the runner measures no single files in one. A long run has a lane for the slow parts, beside all
 * others.
 */
export function toLanes(parts: readonly Part[], isLong: boolean, filesAtOnce: number): Lane[] {
  const isAside = (part: Part): boolean => (isLong ? slowParts.includes(part.name) : part.engine === 'portable')
  const main = parts.filter((part) => !isAside(part))
  const aside = parts.filter(isAside)
  const half = Math.max(2, Math.floor(filesAtOnce / 2))
  const lanes = isLong
    ? [
        { parts: main, atOnce: aside.length > 0 ? half : filesAtOnce },
        { parts: aside, atOnce: main.length > 0 ? half : filesAtOnce },
      ]
    : [
        { parts: main, atOnce: filesAtOnce },
        { parts: aside, atOnce: 2 },
      ]
  return lanes.filter((lane) => lane.parts.length > 0)
}
