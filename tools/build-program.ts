/** Builds the packed program for this machine's processor; its argument is the path of the file. */
import { rmSync } from 'node:fs'
import { buildBinary } from './package/binary.ts'
import { ownTarget } from './package/targets.ts'

const [outfile] = process.argv.slice(2)
if (outfile === undefined) throw new Error('name the file')
// A process that still runs the earlier program keeps its file.
rmSync(outfile, { force: true })
await buildBinary(ownTarget(), outfile)
