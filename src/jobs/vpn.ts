import type { Vpn } from '../domains/vpn/index.ts'
import type { Chore, Notes } from './chores.ts'

const minuteMs = 60_000

/** What happens to VPN subscriptions by themselves. */
export function vpnChores({ vpn }: { vpn: Vpn }, notes: Notes): readonly Chore[] {
  return [
    {
      name: 'renew vpn',
      everyMs: minuteMs,
      async work() {
        for (;;) {
          const { renewed, refused, more } = await vpn.renewDue()
          if (renewed + refused > 0) notes.info('vpn renewed', { renewed, refused })
          if (!more) return
          await Bun.sleep(50)
        }
      },
    },
    {
      name: 'sweep vpn',
      everyMs: 10 * minuteMs,
      async work() {
        while ((await vpn.sweep()) > 0) await Bun.sleep(50)
      },
    },
  ]
}
