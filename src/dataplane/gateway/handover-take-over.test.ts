import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Socket } from 'bun'
import { runningSocket } from '../agent/boots.ts'
import { realTiming } from '../agent/runtime.ts'
import { findPredecessor } from './handover.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-take-over-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const endings = {
  'has heard it': { data: (socket: Socket) => socket.terminate() },
  'has not heard it': { open: (socket: Socket) => void setTimeout(() => socket.terminate(), 1), data() {} },
}

test.each(Object.entries(endings))(
  'one that ends as it is asked who it is, and %s, does not run',
  async (_, socket) => {
    const ending = Bun.listen({ unix: runningSocket(folder, 'boot_0001'), socket })
    for (let round = 0; round < 20; round += 1) expect(await findPredecessor(folder, realTiming)).toBeUndefined()
    ending.stop(true)
  },
)
