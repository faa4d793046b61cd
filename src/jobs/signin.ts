import type { Customers } from '../domains/customers/index.ts'
import type { Retaining } from '../domains/privacy/index.ts'
import type { SignIn } from '../domains/signin/index.ts'
import type { Chore } from './chores.ts'

const usesEveryMs = 30_000
const forgetEveryMs = 600_000
const forgetAtOnce = 500
const dayMs = 86_400_000

/** What the shop does about tokens and sessions by itself. */
export const signInChores = (services: {
  customers: Customers
  signIn: SignIn
  retaining: Pick<Retaining, 'retention'>
}): readonly Chore[] => [
  { name: 'uses of tokens', everyMs: usesEveryMs, work: () => services.customers.noteUses(), isOwn: true },
  {
    name: 'forget sessions',
    everyMs: forgetEveryMs,
    async work() {
      const keptMs = services.retaining.retention.sessionDays * dayMs
      while ((await services.signIn.forgetEnded(keptMs, forgetAtOnce)) >= forgetAtOnce) await Bun.sleep(50)
    },
  },
]
