import { Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { Flag, Select, SubmitForm, useTyped } from '../shared/form.tsx'
import { messages, names, pair, phrase, useMessages } from '../shared/messages.tsx'
import { Panel, Reading } from '../shared/parts.tsx'
import { type CustomerAnswer, useChange, useRead } from './api.ts'

const noticeMessages = messages({
  title: pair('Notices by e-mail', 'Уведомления по почте'),
  about: phrase(
    'Letters go to {address}, at most {count} a day.',
    'Письма приходят на {address}, не больше {count} в день.',
  ),
  off: pair('This shop sends no e-mail.', 'Этот магазин не отправляет писем.'),
  noAddress: pair('The account has no e-mail address.', 'У учётной записи нет адреса почты.'),
  kinds: names({
    expiry: pair('Services that end soon or have ended', 'Услуги скоро закончатся или закончились'),
    balance: pair('Low balance', 'Низкий баланс'),
    traffic: pair('Traffic that runs low', 'Трафик заканчивается'),
    receipt: pair('Orders, payments and refunds', 'Заказы, платежи и возвраты'),
    price: pair('Changes of prices', 'Изменения цен'),
    message: pair('Messages of the seller', 'Сообщения продавца'),
  }),
  language: pair('Language of the letters', 'Язык писем'),
  languages: names({ en: 'English', ru: 'Русский' }),
  save: pair('Save', 'Сохранить'),
  saved: pair('Saved.', 'Сохранено.'),
  below: pair('Low balance: below, in roubles', 'Низкий баланс: ниже, в рублях'),
  belowHint: pair('Empty: never', 'Пусто: никогда'),
})

type Chosen = CustomerAnswer<'getNotices'>
type Kind = Chosen['kinds'][number]
const kinds: readonly Kind[] = ['expiry', 'balance', 'traffic', 'receipt', 'price', 'message']

/** Which letters the customer gets, and below which balance. */
export function NoticesPanel() {
  const { t } = useMessages(noticeMessages)
  const notices = useRead('getNotices')
  return (
    <Panel title={t.title} className="stack">
      <Reading of={notices}>
        {(of) =>
          of.available && of.address !== null ? (
            <KindsForm of={of} address={of.address} />
          ) : (
            <Text c="dimmed">{of.available ? t.noAddress : t.off}</Text>
          )
        }
      </Reading>
      <Reading of={useRead('getBalanceAlert')}>{(of) => <ThresholdForm below={of.alert_below_rub} />}</Reading>
    </Panel>
  )
}

function KindsForm({ of, address }: { readonly of: Chosen; readonly address: string }) {
  const { t, language: shown } = useMessages(noticeMessages)
  const [chosen, setChosen] = useState<readonly Kind[]>(of.kinds)
  const [language, setLanguage] = useState(of.language ?? shown)
  const save = useChange('setNotices')
  const toggle = (kind: Kind, isWanted: boolean) =>
    setChosen(isWanted ? [...chosen, kind] : chosen.filter((each) => each !== kind))
  return (
    <SubmitForm
      label={t.save}
      look={{ style: { alignSelf: 'flex-start' } }}
      change={save}
      onSubmit={() => save.mutate({ body: { kinds: [...chosen], language } })}
    >
      <Text c="dimmed">{t.about(address, String(of.per_day))}</Text>
      {kinds.map((kind) => (
        <Flag
          key={kind}
          label={t.kinds[kind]}
          checked={chosen.includes(kind)}
          onChange={(isWanted) => toggle(kind, isWanted)}
        />
      ))}
      <Select
        label={t.language}
        maw="20rem"
        value={language}
        options={[
          ['en', t.languages['en'] ?? ''],
          ['ru', t.languages['ru'] ?? ''],
        ]}
        onChange={setLanguage}
      />
      {save.isSuccess && <Text role="status">{t.saved}</Text>}
    </SubmitForm>
  )
}

function ThresholdForm({ below }: { readonly below: number | null }) {
  const { t } = useMessages(noticeMessages)
  const amount = useTyped(below === null ? '' : String(below))
  const save = useChange('setBalanceAlert')
  const sum = amount.text === '' ? null : Number(amount.text.replace(',', '.'))
  return (
    <SubmitForm
      label={t.save}
      look={{ style: { alignSelf: 'flex-start' }, variant: 'default' }}
      change={save}
      isReady={sum === null || sum > 0}
      onSubmit={() => save.mutate({ body: { alert_below_rub: sum } })}
    >
      <TextInput label={t.below} placeholder={t.belowHint} inputMode="decimal" maw="20rem" {...amount.props} />
      {save.isSuccess && <Text role="status">{t.saved}</Text>}
    </SubmitForm>
  )
}
