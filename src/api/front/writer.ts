import { createPrice } from '../../core/messages/numbers.ts'
import type { Brand } from '../../domains/brand/rules.ts'
import type { ShownCatalogue } from '../customer/catalogue/public-catalogue.ts'
import { escapeHtml } from '../html-page.ts'
import type { AnswerLanguage } from '../language.ts'
import { methodTexts, texts } from './texts.ts'

/** What sections of the public page are written from, and how. */
export type Writer = {
  readonly language: AnswerLanguage
  readonly brand: Brand
  readonly shown: ShownCatalogue
  /** A text in the page's language, escaped, with its placeholders filled. */
  readonly say: (name: keyof typeof texts, values?: Readonly<Record<string, string | number>>) => string
  readonly of: (text: Readonly<Record<AnswerLanguage, string>>) => string
  readonly rub: (roubles: number) => string
  /** The name of a way to pay; one without a text is shown by the shop's name. */
  readonly payBy: (method: string, name: string) => string
  /** A link that begins a purchase; it leads to sign-in where visitors do not buy. */
  readonly buyButton: (order: Readonly<Record<string, string | number>>) => string
}

export function createWriter(
  language: AnswerLanguage,
  brand: Brand,
  shown: ShownCatalogue,
  sellsToVisitors: boolean,
): Writer {
  const of = (text: Readonly<Record<AnswerLanguage, string>>) => escapeHtml(text[language])
  return {
    language,
    brand,
    shown,
    of,
    payBy: (method, name) => of(methodTexts[method] ?? { en: name, ru: name }),
    buyButton(order) {
      const query = new URLSearchParams({ lang: language })
      for (const [name, each] of Object.entries(order)) query.set(name, String(each))
      const target = sellsToVisitors ? `/buy?${query.toString()}` : '/account'
      return `<a class="button plain" href="${escapeHtml(target)}" rel="nofollow">${of(texts.buy)}</a>`
    },
    say: (name, values = {}) =>
      of(texts[name]).replace(/\{(\w+)\}/g, (_, value: string) => escapeHtml(String(values[value] ?? ''))),
    rub: createPrice(language),
  }
}
