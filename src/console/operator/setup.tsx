import { Text } from '@mantine/core'
import { usePath } from '../shared/browser.ts'
import { messages, pair, phrase, useMessages } from '../shared/messages.tsx'
import { Notice, Panel } from '../shared/parts.tsx'
import { type OperatorAnswer, useRead } from './api.ts'
import { operatorTexts } from './messages.ts'

export type Setup = OperatorAnswer<'getSetup'>
type Step = Setup['steps'][number]['step']

export const setupMessages = messages({
  ...operatorTexts,
  setupAbout: pair(
    'The shop checks each step itself, every 5 seconds.',
    'Магазин сам проверяет каждый шаг, раз в 5 секунд.',
  ),
  progress: phrase('{done} of {all} steps are done', 'Готово шагов: {done} из {all}'),
  nextStep: pair('Next step of the setup', 'Следующий шаг запуска'),
  goOn: pair('Show the steps', 'Показать шаги'),
  ready: pair('Done', 'Готово'),
  missing: pair('To do', 'Нужно сделать'),
  allReady: pair('The shop is ready to sell.', 'Магазин готов продавать.'),
  steps: {
    address: pair('Public address', 'Публичный адрес'),
    prices: pair('Prices', 'Цены'),
    node: pair('Node', 'Узел'),
    stock: pair('Addresses', 'Адреса'),
    payment: pair('Payment method', 'Способ оплаты'),
    customer: pair('First customer', 'Первый покупатель'),
    purchase: pair('Test purchase', 'Пробная покупка'),
  },
  abouts: {
    address: pair(
      'Set TURNPIKE_PUBLIC_URL to the https address that customers open, and restart the shop.',
      'Укажите в TURNPIKE_PUBLIC_URL адрес https, который открывают покупатели, и перезапустите магазин.',
    ),
    prices: pair(
      'Apply a price list. “turnpike catalog apply prices.yaml” also works.',
      'Примените прайс-лист. Подойдёт и команда «turnpike catalog apply prices.yaml».',
    ),
    node: pair(
      'Add a gateway or VPN node and run the printed command on its machine.',
      'Добавьте шлюз или узел VPN и выполните показанную команду на его машине.',
    ),
    stock: pair(
      'Add a range that the gateway’s machine has, or an exit. A VPN node needs neither.',
      'Добавьте диапазон, который есть на машине шлюза, или выход. Узлу VPN это не нужно.',
    ),
    payment: pair(
      'Set up and enable a payment provider. “Invoices” needs no contract: you mark payments as paid.',
      'Настройте и включите платёжную систему. Для «Счетов» договор не нужен: вы сами отмечаете оплату.',
    ),
    customer: pair(
      'Add a customer, for example yourself, and send the sign-in link.',
      'Добавьте покупателя, например себя, и отправьте ссылку для входа.',
    ),
    purchase: pair(
      'Credit the customer, open the sign-in link and buy the cheapest product. Refund it afterwards.',
      'Пополните баланс покупателя, войдите по ссылке и купите самое дешёвое. Потом оформите возврат.',
    ),
  },
})

export const pageOf: Readonly<Record<Step, string | undefined>> = {
  address: undefined,
  prices: '/prices',
  node: '/network',
  stock: '/stock',
  payment: '/payments/providers',
  customer: '/customers',
  purchase: '/customers',
}

/** The first step to do in a production shop; undefined if all are done, in a sandbox, and until the shop answers. */
export function useNextStep(): Step | undefined {
  const { data } = useRead('getSetup', {}, { everyMs: 15_000 })
  return data?.mode === 'production' ? data.steps.find((each) => !each.done)?.step : undefined
}

/** Whether the shop is a sandbox, whose menu has the page of the first sale. */
export const useIsSandbox = (): boolean => useRead('getSetup', {}, { everyMs: 15_000 }).data?.mode === 'sandbox'

/** On the pages of the steps, while the shop is being set up: the next thing to do. */
export function NextStep() {
  const { t } = useMessages(setupMessages)
  const path = usePath()
  const next = useNextStep()
  if (next === undefined || path === '/' || path === '/setup') return null
  const isHere = pageOf[next] === path
  return (
    <Notice tone="warn">
      {t.nextStep}: <a href={isHere ? '#/setup' : `#${pageOf[next] ?? '/setup'}`}>{t.steps[next]}</a>
      {isHere && <Text size="sm">{t.abouts[next]}</Text>}
    </Notice>
  )
}

export const useSetup = () => useRead('getSetup', {}, { everyMs: 5_000 })

/** On the overview of a production shop that is not set up yet. */
export function SetupPanel() {
  const { t, format } = useMessages(setupMessages)
  const { data } = useSetup()
  if (data?.mode !== 'production') return null
  const done = data.steps.filter((each) => each.done).length
  if (done === data.steps.length) return null
  return (
    <Panel title={t.setup} aside={<a href="#/setup">{t.goOn}</a>}>
      <Text>{t.progress(format.number(done), format.number(data.steps.length))}</Text>
    </Panel>
  )
}
