import { expect } from 'bun:test'
import { readFileSync } from 'node:fs'
import { createDice, type Dice } from './dice.ts'
import type { GatewayProcess } from './gateway-process.ts'
import { slopeOf } from './least-squares.ts'
import { readProcessFiles } from './process-files.ts'
import { isLong } from './scale.ts'
import { untilTrue } from './turnpike.ts'
import { untilStill } from './until.ts'

const lanes = 8
/** Parts of a load; the first warms up the process. */
const parts = 10

type Load = {
  /** The things that are counted, in the plural. */
  readonly what: string
  readonly count: number
  readonly maxGrowthBytes: number
}

/**
 * Runs `act`, which returns how many things it has sent, in all lanes until they have sent `count`. The process has the
 * same descriptors afterwards as before and has logged no error, and its memory does not grow after the first tenth. A
 * long run prints the slope.
 */
export async function loadProcess(
  gateway: Pick<GatewayProcess, 'pid' | 'errors' | 'env'>,
  { what, count, maxGrowthBytes }: Load,
  act: (dice: Dice) => Promise<number>,
): Promise<void> {
  const residentBytes = (): number =>
    1024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${gateway.pid}/status`, 'utf8'))?.[1])
  const shopPort = Number(new URL(gateway.env['TURNPIKE_SHOP_URL'] ?? '').port)
  const readFiles = () => readProcessFiles(gateway.pid ?? expect.unreachable(), shopPort)
  const countFiles = (): number => readFiles().length
  const seed = Math.floor(Math.random() * 2 ** 31)
  const startedAt = performance.now()
  let sent = 0
  const runTo = (max: number, from: number): Promise<void[]> =>
    Promise.all(
      Array.from({ length: lanes }, async (_, lane) => {
        const dice = createDice(seed + from + lane)
        while (sent < max) {
          const more = await act(dice)
          sent += more
        }
      }),
    )
  try {
    // Each thread of the gateway opens descriptors of its own when it starts.
    await runTo(count / parts, 0)
    await untilStill(countFiles)
    const before = readFiles()
    const filesBefore = before.length
    const points = [{ x: sent, y: residentBytes() }]
    for (let part = 2; part <= parts; part += 1) {
      await runTo((count * part) / parts, part * lanes)
      points.push({ x: sent, y: residentBytes() })
      const seconds = Math.round((performance.now() - startedAt) / 1000)
      if (isLong) console.log(`${sent} ${what}, ${seconds} s, ${residentBytes() >> 20} MiB, ${countFiles()} files`)
    }
    await untilTrue(() => countFiles() <= filesBefore).catch((cause: unknown) => {
      const left = readFiles().filter((file) => !before.includes(file))
      throw new Error(`${countFiles() - filesBefore} descriptors are left open, among these: ${left.join(', ')}`, {
        cause,
      })
    })
    const grownBytes = residentBytes() - (points[0]?.y ?? 0)
    const slopeKb = Math.round((slopeOf(points) * 10_000) / 1024)
    if (isLong) console.log(`${sent} ${what}: memory grows by ${slopeKb} KB per 10,000`)
    const problems = [
      ...(grownBytes > maxGrowthBytes ? [`memory has grown by ${grownBytes >> 20} MiB`] : []),
      ...(gateway.errors === '' ? [] : [gateway.errors]),
    ]
    if (problems.length > 0) throw new Error(problems.join('; '))
  } catch (error) {
    throw new Error(`seed ${seed}, ${sent} ${what}`, { cause: error })
  }
}
