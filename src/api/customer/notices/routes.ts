import type { CustomerId } from '../../../core/ids.ts'
import type { Notices } from '../../../domains/notices/index.ts'
import { type Bound, bind } from '../../bind.ts'
import * as shapes from './shapes.ts'

export function noticeOperations({ notices }: { readonly notices: Notices }): readonly Bound[] {
  async function show(customer: CustomerId) {
    const { kinds, language, address, isAvailable, perDay } = await notices.showChoices(customer)
    return { kinds: [...kinds], language, address, available: isAvailable, per_day: perDay }
  }
  return [
    bind(shapes.getNotices, ({ caller }) => show(caller.customer)),
    bind(shapes.setNotices, async ({ caller, body }) => {
      await notices.choose(caller.customer, body)
      return show(caller.customer)
    }),
  ]
}
