import { ActionIcon, Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import { isRecord } from '../client/call.ts'
import { useOwner } from '../client/session.ts'
import { DialogButton } from './dialog.tsx'
import { SubmitForm, useTyped } from './form.tsx'
import { Icon } from './icons.tsx'
import { messages, pair, phrase, useMessages } from './messages.tsx'

const savedMessages = messages({
  save: pair('Save this filter', 'Сохранить фильтр'),
  nameOf: pair('Name of the filter', 'Название фильтра'),
  saved: pair('Saved filters', 'Сохранённые фильтры'),
  drop: phrase('Remove the filter {name}', 'Удалить фильтр {name}'),
})

/** Fields of a filter by their names in the address bar; an empty one is not set. */
type Fields = Readonly<Record<string, string>>
type Saved = { readonly name: string; readonly fields: Fields }

const maxSaved = 20

const isSaved = (value: unknown): value is Saved =>
  isRecord(value) &&
  typeof value['name'] === 'string' &&
  isRecord(value['fields']) &&
  Object.values(value['fields']).every((each) => typeof each === 'string')

/** The filters in the browser's storage; what another version wrote is left out. */
function readSaved(key: string): readonly Saved[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(key) ?? '[]')
    return Array.isArray(stored) ? stored.filter(isSaved) : []
  } catch {
    return []
  }
}

type SavedFiltersProps = {
  /** The list that they filter. */
  readonly name: string
  readonly now: Fields
  readonly onChoose: (fields: Fields) => void
}

/** Filters that the reader has named, kept in this browser for the signed-in customer or operator. */
export function SavedFilters({ name, now, onChoose }: SavedFiltersProps) {
  const { t } = useMessages(savedMessages)
  const key = `turnpike.filters.${name}.${useOwner()}`
  const [saved, setSaved] = useState(() => readSaved(key))
  const keep = (next: readonly Saved[]) => {
    localStorage.setItem(key, JSON.stringify(next))
    setSaved(next)
  }
  const isSet = Object.values(now).some((each) => each !== '')
  if (!isSet && saved.length === 0) return null
  return (
    <div className="line" role="group" aria-label={t.saved}>
      {saved.map((each) => (
        <span key={each.name} className="saved">
          <Button size="compact-sm" variant="light" onClick={() => onChoose(each.fields)}>
            {each.name}
          </Button>
          <ActionIcon
            size={24}
            variant="subtle"
            color="gray"
            aria-label={t.drop(each.name)}
            onClick={() => keep(saved.filter((other) => other !== each))}
          >
            <Icon name="close" size={13} />
          </ActionIcon>
        </span>
      ))}
      {isSet && saved.length < maxSaved && (
        <DialogButton label={t.save} look={{ size: 'compact-sm', variant: 'subtle' }}>
          {(close) => (
            <NameFilter
              onName={(chosen) => {
                keep([...saved.filter((each) => each.name !== chosen), { name: chosen, fields: now }])
                close()
              }}
            />
          )}
        </DialogButton>
      )}
    </div>
  )
}

function NameFilter({ onName }: { readonly onName: (name: string) => void }) {
  const { t } = useMessages(savedMessages)
  const { text, props } = useTyped()
  return (
    <SubmitForm label={t.save} isReady={text !== ''} onSubmit={() => onName(text)}>
      <TextInput label={t.nameOf} maxLength={40} data-autofocus {...props} />
    </SubmitForm>
  )
}
