import { statSync } from 'node:fs'
import { join } from 'node:path'
import { buildBinary } from '../tools/package/binary.ts'
import { ownTarget } from '../tools/package/targets.ts'
import type { Bench } from './context.ts'
import { timeRow } from './report.ts'
import { fromSources, spawnTurnpike } from './shop-process.ts'
import { measureStart, memoryRow, type Start } from './start.ts'

const starts = 5
const commands = 11
/** Operators type commands all day. */
const commandMs = 300

/** The two forms of one program, in turns. */
export const packed: Bench = {
  name: 'packed',
  about: 'the program packed into one file beside the same from sources: its size, a command, a start, an idle shop',
  async run({ stage, say }) {
    const binary = join(stage.makeFolder(), 'turnpike')
    await buildBinary(ownTarget(), binary)
    const forms = [
      { name: 'packed', program: [binary] },
      { name: 'from sources', program: fromSources },
    ].map((form): Form => ({ ...form, folder: join(stage.makeFolder(), 'data'), first: [], later: [], listed: [] }))
    for (const form of forms) form.first.push(await measureStart(stage, form.folder, form.program))
    for (let round = 0; round < starts; round += 1) {
      for (const form of forms) form.later.push(await measureStart(stage, form.folder, form.program))
      say(`  start ${round + 1} of ${starts}`)
    }
    for (let round = 0; round < commands; round += 1) {
      for (const form of forms) form.listed.push(await timeCommand(form))
    }
    const megabytes = statSync(binary).size / 1e6
    return [
      { what: 'the packed program', figure: `${megabytes.toFixed(1)} MB`, rounds: [megabytes] },
      ...forms.flatMap(({ name, first, later, listed }) => [
        timeRow(
          `${name}: first start, empty folder`,
          first.map((each) => each.tookMs),
        ),
        timeRow(
          `${name}: later start`,
          later.map((each) => each.tookMs),
        ),
        timeRow(`${name}: \`turnpike customer list\``, listed, name === 'packed' ? commandMs : undefined),
        memoryRow(
          `${name}: memory of the idle shop`,
          later.map((each) => each.shopMb),
        ),
        memoryRow(
          `${name}: the same with the gateway, the supervisor and the launcher`,
          later.map((each) => each.allMb),
        ),
      ]),
    ]
  },
}

type Form = {
  readonly name: string
  readonly program: readonly string[]
  readonly folder: string
  readonly first: Start[]
  readonly later: Start[]
  readonly listed: number[]
}

async function timeCommand(form: Form): Promise<number> {
  const startedMs = performance.now()
  const child = spawnTurnpike(['customer', 'list'], { TURNPIKE_DATA: form.folder }, form.program)
  const [exit] = await Promise.all([child.exited, child.stdout.text()])
  if (exit !== 0) throw new Error(`customer list, ${form.name}, ended with ${exit}`)
  return performance.now() - startedMs
}
