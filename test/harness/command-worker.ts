/**
 * A program that performs `turnpike` commands one after the other, for `command-server.ts`. It listens at the socket
 * that its argument names, and ends when its standard input closes.
 *
 * A request is a list of texts, each ended by a zero byte: a folder for the result, the working folder, `NAME=value`
 * for each variable, an empty text, and the arguments. The result is in the files `out`, `err` and `exit`.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { perform } from '../../src/app/perform.ts'

async function performOne(request: string): Promise<void> {
  const [folder = '', cwd = '', ...rest] = request.split('\0').slice(0, -1)
  const end = rest.indexOf('')
  const variables = rest.slice(0, end).map((each) => [each.split('=', 1)[0] ?? '', each.slice(each.indexOf('=') + 1)])
  process.chdir(cwd)
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, Object.fromEntries(variables))
  const printed = { out: '', err: '' }
  const exit = await perform(rest.slice(end + 1), {
    out: async (text) => void (printed.out += text),
    err: (text) => void (printed.err += text),
  })
  for (const [name, text] of Object.entries({ ...printed, exit: String(exit) })) writeFileSync(join(folder, name), text)
}

let last: Promise<void> = Promise.resolve()
Bun.serve({
  unix: process.argv[2] ?? '',
  async fetch(request) {
    const text = await request.text()
    const mine = last.then(() => performOne(text))
    last = mine.catch(() => {})
    await mine
    return new Response('')
  },
})
process.stdout.write('open\n')
for await (const _ of process.stdin) continue
process.exit(0)
