import type { Format } from '../shared/format.ts'
import type { Language } from '../shared/language.tsx'
import { createTranslator } from '../shared/refusals/translate.ts'

const states: Readonly<Record<string, string>> = {
  new: 'начат',
  pending: 'ждёт денег',
  paid: 'оплачен',
  expired: 'просрочен',
  cancelled: 'отменён',
  refunded: 'возвращён',
}

/** What a comparison with a provider's books says, in Russian. */
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
  ['The payment provider did not accept this.', 'Провайдер этого не принял.'],
  [
    'The payment provider does not answer. What it has done is noted once it says so; the same can be asked again.',
    'Провайдер не отвечает. Что он сделал, будет записано, когда он скажет; спросить можно ещё раз.',
  ],
])

export function sayDifference(problem: string, language: Language, format: Format): string {
  if (language === 'en') return problem
  const said = translate(problem, format) ?? problem
  return said.replace(/: (\w+)$/, (whole, state: string) => (states[state] ? `: ${states[state]}` : whole))
}
