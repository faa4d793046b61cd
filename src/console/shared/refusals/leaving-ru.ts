import type { Said } from './translate.ts'

/** The same of leaving, of what is kept, and of money that goes back. */
export const leavingMessages: readonly Said[] = [
  [
    'You owe {} RUB. Pay them first, or ask whoever runs the shop.',
    'За вами долг {} ₽. Сначала погасите его или напишите продавцу.',
  ],
  [
    'This cannot be undone, and takes with it: {} RUB, proxies: {}, VPN subscriptions: {}, bytes of traffic: {}. ' +
      'Say that it is meant.',
    'Это нельзя отменить, и вместе с этим пропадут: {} ₽, прокси — {}, подписки VPN — {}, байты трафика — {}. ' +
      'Подтвердите, что так и задумано.',
  ],
  [
    "Payments under way: {}. Their money would be nobody's. Wait until they are over.",
    'Незавершённых платежей: {}. Их деньги стали бы ничьими. Дождитесь, пока они закончатся.',
  ],
  [
    'The history of checkpoint {} is not what it was made over, so it is not blanked. Run "turnpike verify"; ' +
      'what is left is erased once that is clean.',
    'История контрольной точки {} не та, по которой её сделали, поэтому она не стёрта. Выполните «turnpike verify»: ' +
      'остальное сотрётся, когда там всё сойдётся.',
  ],
  [
    'This notice names no roubles that somebody has paid. Credit the customer by itself, then resolve it.',
    'В этом уведомлении нет рублей, которые кто-то заплатил. Зачислите деньги отдельно и закройте его.',
  ],
  [
    'Its bonus of {} RUB goes back too. The balance is only {} RUB: the rest would be a debt. Say so if that is ' +
      'meant (--into-debt, into_debt).',
    'Бонус {} ₽ тоже возвращается. На балансе только {} ₽: остальное стало бы долгом. Скажите, если так и ' +
      'задумано (--into-debt, into_debt).',
  ],
  [
    'The share of {}, who brought this customer, goes back too and is spent: it would be a debt. Say so if that is ' +
      'meant (--into-debt, into_debt).',
    'Доля {}, кто привёл этого покупателя, тоже возвращается, но потрачена: это стало бы долгом. Скажите, если так ' +
      'и задумано (--into-debt, into_debt).',
  ],
]
