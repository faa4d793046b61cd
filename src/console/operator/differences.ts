import type { Format, Language } from '../shared/format.ts'
import { createTranslator } from '../shared/refusals/translate.ts'

const states: Readonly<Record<string, string>> = {
  new: 'начат',
  pending: 'ждёт денег',
  paid: 'оплачен',
  expired: 'просрочен',
  cancelled: 'отменён',
  refunded: 'возвращён',
}

/** The differences that a reconciliation finds, in Russian. */
const translate = createTranslator([
  ['credited here, and not in the provider’s list', 'зачислен здесь, а в списке провайдера его нет'],
  ['the provider has no such payment', 'у провайдера такого платежа нет'],
  ['paid at the provider, and no payment here', 'оплачен у провайдера, а здесь его нет'],
  ['credited here, {} at the provider', 'зачислен здесь, у провайдера: {}'],
  ['paid at the provider a second time', 'оплачен у провайдера второй раз'],
  ['paid at the provider, {} here', 'оплачен у провайдера, здесь: {}'],
  ['{} RUB at the provider, {} here', 'у провайдера {} ₽, здесь {} ₽'],
  ['{} RUB given back at the provider, {} taken here', 'у провайдера возвращено {} ₽, здесь снято {} ₽'],
  ['A fault here; the log tells more.', 'Неисправность здесь; подробности в логе.'],
  [
    '{} does not give its list out. Look whether its secret is still right.',
    '{} не отдаёт свой список. Проверьте, верен ли ещё его секрет.',
  ],
  [
    '{} does not answer, so its list could not be compared. Try again later.',
    '{} не отвечает, сверить его список не удалось. Повторите позже.',
  ],
])

export function sayDifference(problem: string, language: Language, format: Format): string {
  if (language === 'en') return problem
  const said = translate(problem, format) ?? problem
  return said.replace(/: (\w+)$/, (whole, state: string) => (states[state] ? `: ${states[state]}` : whole))
}
