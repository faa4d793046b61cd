import type { Events } from '../domains/events/index.ts'
import type { Chore } from './chores.ts'

const atOnce = 500

/** Forgets what customers were told long ago. */
export function eventChores({ events }: { events: Events }): readonly Chore[] {
  return [
    {
      name: 'forget events',
      everyMs: 10 * 60_000,
      async work() {
        while ((await events.forget(atOnce)) === atOnce) await Bun.sleep(50)
      },
    },
  ]
}
