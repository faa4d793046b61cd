import { TextInput } from '@mantine/core'
import { SubmitForm, useTyped } from '../shared/form.tsx'
import { messages, pair, useMessages } from '../shared/messages.tsx'
import { Notice, Panel, Reading, Status } from '../shared/parts.tsx'
import { type OperatorAnswer, useChange, useMay, useRead } from './api.ts'
import { operatorTexts } from './messages.ts'

const announcementMessages = messages({
  ...operatorTexts,
  title: pair('Announcement', 'Объявление'),
  about: pair(
    'One line on the pages of all customers and visitors, on payment pages, the pages of VPN links and in VPN apps ' +
      'that show announcements. Leave both texts empty to remove it.',
    'Одна строка на страницах всех покупателей и посетителей, на страницах оплаты и ссылок VPN и в приложениях VPN, ' +
      'которые показывают объявления. Чтобы убрать его, оставьте оба текста пустыми.',
  ),
  english: pair('Text in English', 'Текст на английском'),
  russian: pair('Text in Russian', 'Текст на русском'),
  ofBoth: pair(
    'Write both: a page in a language without a text shows the other text, and says in which language it is.',
    'Напишите оба: страница на языке без текста покажет другой текст и скажет, на каком он языке.',
  ),
  fromUtc: pair('From (UTC); empty is now', 'С (UTC); пусто — сразу'),
  untilUtc: pair('Until (UTC); empty is no end', 'До (UTC); пусто — без конца'),
  announce: pair('Announce', 'Объявить'),
  shown: pair('Shown now', 'Показывается'),
  notShown: pair('Not shown now', 'Сейчас не показывается'),
  saved: pair(
    'Saved. Pages that are open show it after a reload.',
    'Сохранено. Открытые страницы покажут его после обновления.',
  ),
})

/** The announcement to customers and visitors, now or later. */
export const AnnouncementPanel = () => (
  <Reading of={useRead('getAnnouncement')}>{(found) => <Form of={found} />}</Reading>
)

/** A moment as the browser's field has it, in UTC. */
const toField = (iso: string | null): string => iso?.slice(0, 16) ?? ''
const fromField = (text: string): string => `${text}:00Z`

function Form({ of }: { readonly of: OperatorAnswer<'getAnnouncement'> }) {
  const { t } = useMessages(announcementMessages)
  const may = useMay()
  const save = useChange('setAnnouncement')
  const [en, ru] = [useTyped(of.text_en ?? ''), useTyped(of.text_ru ?? '')]
  const [from, until] = [useTyped(toField(of.from)), useTyped(toField(of.until))]
  const body = {
    ...(en.text !== '' && { text_en: en.text }),
    ...(ru.text !== '' && { text_ru: ru.text }),
    ...(from.text !== '' && { from: fromField(from.text) }),
    ...(until.text !== '' && { until: fromField(until.text) }),
  }
  const state = <Status tone={of.is_shown ? 'good' : 'quiet'}>{of.is_shown ? t.shown : t.notShown}</Status>
  return (
    <Panel title={t.title} className="stack" aside={state}>
      <span>{`${t.about} ${t.ofBoth}`}</span>
      {may('setAnnouncement') && (
        <SubmitForm label={t.announce} change={save} onSubmit={() => save.mutate({ body })}>
          <TextInput label={t.english} maxLength={300} {...en.props} />
          <TextInput label={t.russian} maxLength={300} {...ru.props} />
          <div className="line fields">
            <TextInput type="datetime-local" label={t.fromUtc} {...from.props} />
            <TextInput type="datetime-local" label={t.untilUtc} {...until.props} />
          </div>
        </SubmitForm>
      )}
      {save.isSuccess && <Notice tone="good">{t.saved}</Notice>}
    </Panel>
  )
}
