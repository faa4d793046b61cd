import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { Refusal, refuseHere } from '../../core/refusal.ts'

/** The files of a backup. It is whole once the manifest is there, which is written last. */
export const filesOf = (folder: string) => ({
  manifest: join(folder, 'manifest.json'),
  rows: join(folder, 'shop.db'),
  key: join(folder, 'secret.key'),
})

const manifestSchema = z.object({
  format: z.literal(1),
  /** Which Turnpike wrote it. */
  version: z.string(),
  /** What the shop ran on. The rows are in a SQLite file in either case. */
  engine: z.enum(['sqlite', 'postgres']),
  began_at: z.iso.datetime(),
  made_at: z.iso.datetime(),
  /** The newest migration that the shop had had. */
  schema: z.string(),
  tables: z.record(z.string(), z.object({ rows: z.int().min(0), digest: z.string().regex(/^[0-9a-f]{64}$/) })),
  checkpoint: z.object({ number: z.int(), hash: z.string() }).nullable(),
})

export type Manifest = z.infer<typeof manifestSchema>

const refused = (problem: string): Refusal => refuseHere(problem)

/** What a folder says that it is. Whatever is no whole backup is refused. */
export function readManifest(folder: string): Manifest {
  const { manifest, rows } = filesOf(folder)
  if (!existsSync(manifest) || !existsSync(rows)) {
    throw refused(`${folder} is no backup: "turnpike backup FOLDER" writes one, with shop.db and manifest.json in it.`)
  }
  let value: unknown
  try {
    value = JSON.parse(readFileSync(manifest, 'utf8'))
  } catch {
    throw refused(`${manifest} cannot be read: it is not JSON.`)
  }
  const read = manifestSchema.safeParse(value)
  if (!read.success) throw refused(`${manifest} is none that this version of Turnpike can read.`)
  return read.data
}

export const countRows = (manifest: Manifest): number =>
  Object.values(manifest.tables).reduce((sum, table) => sum + table.rows, 0)
