import { afterAll, beforeAll, expect } from 'bun:test'
import { join } from 'node:path'
import { type Net, netAddresses, openNet } from '../harness/netns.ts'
import { findNetnsSupport } from '../harness/netns-support.ts'
import { waitLimitMs } from '../harness/until.ts'

const { test, isPossible } = await findNetnsSupport('real clients of VPN devices with an origin in another network')

type Outcome = {
  readonly client: string
  readonly page: string
  readonly file: boolean
  readonly problem: string
  readonly udp?: boolean
  readonly carried: unknown
  readonly billed: unknown
}

let net: Net
beforeAll(async () => {
  if (isPossible) net = await openNet()
})
afterAll(() => net?.close())

test(
  'v2ray, trojan, curl and Chromium carry a page, 100 MB and a DNS question by what the link answered, and each byte is billed once',
  async () => {
    const worker = join(import.meta.dir, '../harness/real-clients-worker.ts')
    const leash = ['ip', 'netns', 'exec', net.node, 'setpriv', '--pdeathsig', 'KILL']
    const program = [process.execPath, '--no-env-file', worker, net.origin, netAddresses.origin4]
    const child = Bun.spawn([...leash, ...program], { stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' })
    const outcomes = (await child.stdout.text())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Outcome)
    expect(await child.exited).toBe(0)
    expect(outcomes.map(({ client }) => client.replace(/,.* /, ', '))).toEqual([
      'v2ray, VLESS',
      'v2ray, WebSocket',
      'v2ray, Trojan',
      'trojan',
      'curl',
      'Chromium',
    ])
    for (const { client, page, file, problem, udp, carried, billed } of outcomes) {
      const hasUdp = client.startsWith('v2ray')
      expect({ client, page, file, problem, udp }).toEqual({
        client,
        page: 'hello',
        file: true,
        problem: '',
        udp: hasUdp ? true : undefined,
      })
      expect({ client, billed }).toEqual({ client, billed: carried })
    }
  },
  10 * waitLimitMs,
)
