import { z } from 'zod'
import type { VerifyProgress } from '../../core/verify-parts.ts'
import { findFile, writeOwnFile } from '../../dataplane/agent/own-file.ts'

const progressSchema: z.ZodType<VerifyProgress> = z.object({
  roundAt: z.int(),
  partAt: z.int(),
  parts: z.int(),
  walk: z.string(),
  after: z.string().nullable(),
  rows: z.int(),
  lastRows: z.int().nullable(),
  found: z.int(),
  lastFound: z.int(),
})

/** Where the parts of `verify` are, between two of them. */
export type VerifyProgressStore = {
  readonly read: () => VerifyProgress | undefined
  readonly save: (progress: VerifyProgress) => void
}

/**
 * In a file of the data folder, so that an attacker who can write to the database cannot say what was looked at. A file
 * that cannot be read begins a new round. Without a folder it is kept in memory.
 */
export function createVerifyProgress(file: string | undefined): VerifyProgressStore {
  let held: VerifyProgress | undefined
  if (file === undefined) return { read: () => held, save: (progress) => void (held = progress) }
  return {
    read() {
      const text = findFile(file)
      return text === undefined ? undefined : progressSchema.safeParse(parseJson(text)).data
    },
    save: (progress) => writeOwnFile(file, `${JSON.stringify(progress)}\n`),
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
