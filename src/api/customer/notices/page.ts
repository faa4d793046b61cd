import type { Brands } from '../../../domains/brand/index.ts'
import type { Notices } from '../../../domains/notices/index.ts'
import type { NoticeKind } from '../../../domains/notices/rules.ts'
import { createHtmlPages } from '../../html-page.ts'
import { languageOf } from '../../language.ts'
import type { PlainRoute } from '../../plain-route.ts'

const kinds: Readonly<Record<NoticeKind, { readonly en: string; readonly ru: string }>> = {
  expiry: { en: 'Ends of services', ru: 'Окончание услуг' },
  balance: { en: 'Low balance', ru: 'Низкий баланс' },
  traffic: { en: 'Traffic that runs low', ru: 'Трафик заканчивается' },
  receipt: { en: 'Orders and payments', ru: 'Заказы и платежи' },
  price: { en: 'Announced prices', ru: 'Изменения цен' },
  message: { en: 'Messages of the seller', ru: 'Сообщения продавца' },
}

const texts = {
  title: { en: 'Stop these letters?', ru: 'Отказаться от этих писем?' },
  stop: { en: 'Stop', ru: 'Отказаться' },
  done: { en: 'You get no more such letters', ru: 'Таких писем больше не будет' },
  doneAbout: {
    en: 'You can choose them again in your account.',
    ru: 'Снова выбрать их можно в личном кабинете.',
  },
  unknown: { en: 'This link is not valid', ru: 'Ссылка недействительна' },
  unknownAbout: {
    en: 'Nothing was changed. Choose your letters in your account.',
    ru: 'Ничего не изменено. Выберите письма в личном кабинете.',
  },
}

const pages = createHtmlPages('', 'self')

type PageDeps = { readonly notices: Notices; readonly brands: Pick<Brands, 'current'> }

/**
 * Ends letters of a kind. A mail program sends a POST without a session (RFC 8058). A GET only shows a button: programs
 * that look at the links of letters must not unsubscribe.
 */
export function unsubscribeRoute({ notices, brands }: PageDeps): PlainRoute {
  return {
    path: '/unsubscribe/:secret',
    takes: 'GET and POST',
    // The mail programs of many customers share few addresses.
    perMinute: 600,
    async answer(request, params) {
      const language = languageOf(request.headers)
      const secret = params['secret'] ?? ''
      const brand = await brands.current()
      const page = (status: number, title: keyof typeof texts, content: string) =>
        new Response(pages.write(brand, language, texts[title][language], texts[title][language], content), {
          status,
          headers: {
            'Content-Type': 'text/html; charset=utf-8',
            Vary: 'Accept-Language',
            'Content-Security-Policy': pages.policyOf(brand),
            'X-Robots-Tag': 'noindex, nofollow',
            'Referrer-Policy': 'no-referrer',
          },
        })
      const of = notices.readUnsubscribe(secret)
      if (!of) return page(404, 'unknown', `<p>${texts.unknownAbout[language]}</p>`)
      if (request.method !== 'POST') {
        const form = `<form method="post"><button class="button" type="submit">${texts.stop[language]}</button></form>`
        return page(200, 'title', `<p>${kinds[of.kind][language]}</p>${form}`)
      }
      await notices.unsubscribe(secret)
      return page(200, 'done', `<p>${kinds[of.kind][language]}. ${texts.doneAbout[language]}</p>`)
    },
  }
}
