/**
 * `npm run schema`: writes the migrations that are made from a list. With `--release` it also notes the checksum of
 * every migration: `tidy` refuses a change of one from then on.
 */
import { join } from 'node:path'
import { readMigrations } from '../../src/app/shop/database.ts'
import { checksumOf } from '../../src/db/migrate.ts'
import { makeMigrations } from './make.ts'

for (const { file, text } of await makeMigrations()) await Bun.write(file, text)
if (process.argv.includes('--release')) {
  const released = Object.fromEntries(readMigrations().map(({ name, text }) => [name, checksumOf(text)]))
  await Bun.write(join(import.meta.dir, 'released.json'), `${JSON.stringify(released, null, 2)}\n`)
}
process.exit(0)
