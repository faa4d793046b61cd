import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Socket } from 'bun'
import { runningSocket } from '../../agent/boots.ts'
import { realTiming } from '../../agent/runtime.ts'
import { findPredecessor } from './handover.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-take-over-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const endings = {
  'after the first request': { data: (socket: Socket) => socket.terminate() },
  '1 ms after it opened': { open: (socket: Socket) => void setTimeout(() => socket.terminate(), 1), data() {} },
}

test.each(Object.entries(endings))(
  'findPredecessor returns undefined for a process that closes the connection %s',
  async (_, socket) => {
    const ending = Bun.listen({ unix: runningSocket(folder, 'boot_0001'), socket })
    for (let round = 0; round < 20; round += 1) expect(await findPredecessor(folder, realTiming)).toBeUndefined()
    ending.stop(true)
  },
)
