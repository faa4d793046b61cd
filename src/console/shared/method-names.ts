import type { Words } from './language.tsx'

/** Ways to pay by their names in the API. One that is new here is called what the shop calls it. */
const en: Readonly<Record<string, string>> = {
  sandbox: 'Sandbox',
  card: 'Card',
  sbp: 'SBP',
  platega_card: 'Card',
  platega_sbp: 'SBP',
  platega_crypto: 'Cryptocurrency',
  crypto: 'Cryptocurrency',
  transfer: 'Bank transfer',
  cash: 'Cash',
}
const ru: typeof en = {
  sandbox: 'Песочница',
  card: 'Банковская карта',
  sbp: 'СБП',
  platega_card: 'Банковская карта',
  platega_sbp: 'СБП',
  platega_crypto: 'Криптовалюта',
  crypto: 'Криптовалюта',
  transfer: 'Банковский перевод',
  cash: 'Наличные',
}
export const methodNames: Words<typeof en> = { en, ru }
