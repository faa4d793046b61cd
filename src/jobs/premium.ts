import type { Premium } from '../domains/premium/index.ts'
import type { Traffic } from '../domains/traffic/index.ts'
import type { Chore, Notes } from './chores.ts'

const minuteMs = 60_000
const atOnce = 500

/** What the shop does for premium traffic by itself: leases that lapse, bytes that expire, hosts that are forgotten. */
export function premiumChores(
  { premium, traffic }: { premium: Premium; traffic: Traffic },
  notes: Notes,
): readonly Chore[] {
  return [
    {
      name: 'lapse leases',
      everyMs: minuteMs,
      async work() {
        const silent = await traffic.leases.lapse()
        if (silent > 0) notes.info('leases lapsed', { boots: silent })
      },
    },
    {
      name: 'expire traffic',
      everyMs: 5 * minuteMs,
      async work() {
        while ((await traffic.accounts.expire(atOnce)) === atOnce) await Bun.sleep(50)
      },
    },
    {
      name: 'pass traffic on',
      everyMs: 5 * minuteMs,
      async work() {
        await premium.passOn()
      },
    },
    {
      name: 'forget hosts',
      everyMs: 60 * minuteMs,
      async work() {
        while ((await premium.intake.forgetHosts(atOnce)) === atOnce) await Bun.sleep(50)
      },
    },
  ]
}
