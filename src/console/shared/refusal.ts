import { type CallRefused, isRecord } from '../client/call.ts'
import { fieldName } from './field-name.ts'

type Problem = { readonly field: string; readonly problem: string }

/** The faulty fields of a refusal, all at once; none for a refusal of another kind. */
export const problemsOf = ({ details }: CallRefused): readonly Problem[] =>
  Array.isArray(details) && details.every(isProblem) ? details : []

const isProblem = (value: unknown): value is Problem =>
  isRecord(value) && typeof value['field'] === 'string' && typeof value['problem'] === 'string'

const sayProblem =
  (language: 'en' | 'ru') =>
  ({ field, problem }: Problem): string =>
    `${fieldName(field, language)}: ${problem}.`

/** The shop writes this time in UTC; the page writes it in the reader's time zone. */
const replacedRecently = {
  en: 'The address of this proxy was replaced recently. It can be replaced again on ',
  ru: 'Адрес этого прокси недавно меняли. Снова его можно заменить ',
}

/** The API's own sentence is for programs: it names a field to change. */
const priceChanged = {
  en: (price: string) =>
    `The price has changed: it is now ${price}. Nothing was charged. To buy at this price, press the button again.`,
  ru: (price: string) =>
    `Цена изменилась: теперь ${price}. Деньги не списаны. Чтобы купить по этой цене, нажмите кнопку ещё раз.`,
}

/** The shop's own sentence. Each faulty field has the name that it has on pages. */
export function sayRefusal(
  refusal: CallRefused,
  language: 'en' | 'ru',
  write: { readonly moment: (iso: string) => string; readonly money: (roubles: number) => string },
): string {
  const { message, details, changedPrice } = refusal
  if (changedPrice !== undefined) return priceChanged[language](write.money(changedPrice))
  const again = isRecord(details) ? details['again_at'] : undefined
  if (typeof again === 'string') return `${replacedRecently[language]}${write.moment(again)}.`
  const problems = problemsOf(refusal)
  return problems.length > 0 ? problems.map(sayProblem(language)).join(' ') : message
}
