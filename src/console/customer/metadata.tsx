import { Text, Textarea } from '@mantine/core'
import { useState } from 'react'
import { DialogButton } from '../shared/dialog.tsx'
import { SubmitForm } from '../shared/form.tsx'
import { messages, pair, useMessages } from '../shared/messages.tsx'
import { Facts, Panel } from '../shared/parts.tsx'
import { useChange } from './api.ts'

const metadataMessages = messages({
  title: pair('Your notes for programs', 'Пометки для программ'),
  none: pair('None. Programs set them with POST /metadata.', 'Нет. Программы ставят их через POST /metadata.'),
  edit: pair('Edit', 'Изменить'),
  lines: pair('One KEY = VALUE a line', 'В каждой строке КЛЮЧ = ЗНАЧЕНИЕ'),
  apply: pair('Save', 'Сохранить'),
})

type Pairs = Readonly<Record<string, string>>
type MetadataProps = {
  readonly kind: 'order' | 'proxy' | 'subuser' | 'vpn'
  readonly id: string | number
  readonly of: Pairs
}

/** Pairs that lines of KEY = VALUE can write. */
const isEditable = (of: Pairs): boolean =>
  !Object.entries(of).some(([key, value]) => key.includes('=') || key.trim() !== key || /[\r\n]/.test(key + value))

/** The pairs of a text with one in each line; the first `=` ends the key. */
const readLines = (text: string): Pairs =>
  Object.fromEntries(
    text
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => {
        const [key = '', ...value] = line.split('=')
        return [key.trim(), value.join('=').trim()] as const
      }),
  )

/** A customer's own keys and values of one thing, and a form that replaces them. */
export function MetadataPanel(props: MetadataProps) {
  const { t } = useMessages(metadataMessages)
  const entries = Object.entries(props.of)
  return (
    <Panel title={t.title} className="stack">
      {entries.length === 0 ? <Text c="dimmed">{t.none}</Text> : <Facts of={entries} />}
      {isEditable(props.of) && (
        <div className="line">
          <DialogButton label={t.edit}>{(close) => <MetadataForm {...props} onDone={close} />}</DialogButton>
        </div>
      )}
    </Panel>
  )
}

function MetadataForm({ kind, id, of, onDone }: MetadataProps & { readonly onDone: () => void }) {
  const { t } = useMessages(metadataMessages)
  const lines = Object.entries(of).map(([key, value]) => `${key} = ${value}`)
  const [text, setText] = useState(lines.join('\n'))
  const change = useChange('setMetadata', onDone)
  const send = () => {
    const typed = readLines(text)
    const removed = Object.keys(of).filter((key) => !(key in typed))
    // A value that was not touched is not sent: its outer spaces stay.
    const changed = Object.entries(typed).filter(([key, value]) => of[key]?.trim() !== value)
    const metadata = Object.fromEntries([...removed.map((key) => [key, null] as const), ...changed])
    change.mutate({ body: { kind, id: String(id), metadata } })
  }
  return (
    <SubmitForm label={t.apply} change={change} onSubmit={send}>
      <Textarea
        label={t.lines}
        autosize
        minRows={4}
        maxRows={20}
        data-autofocus
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
    </SubmitForm>
  )
}
