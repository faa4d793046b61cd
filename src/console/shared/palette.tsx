import { Modal, Text, TextInput } from '@mantine/core'
import { type KeyboardEvent, useEffect, useId, useState } from 'react'
import { useTyped } from './form.tsx'
import { Icon, type IconName } from './icons.tsx'
import { messages, pair, useMessages } from './messages.tsx'

const paletteMessages = messages({
  title: pair('Go to', 'Перейти'),
  hint: pair('A page, an action, an address or a number', 'Страница, действие, адрес или номер'),
  nothing: pair('Nothing matches.', 'Ничего не найдено.'),
})

/** One line of the palette: a page, an action, or a thing that was found. */
export type PaletteEntry = {
  readonly id: string
  readonly icon: IconName
  readonly label: string
  /** The kind of thing, or more about it. */
  readonly note?: string
  /** Words by which it is found too. */
  readonly words?: string
  readonly run: () => void
}

/** Whether an entry has every word that was typed, in any order. */
export function isMatch(
  { label, note = '', words = '' }: Pick<PaletteEntry, 'label' | 'note' | 'words'>,
  typed: string,
): boolean {
  const text = `${label} ${note} ${words}`.toLowerCase()
  return typed
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}

const maxShown = 12

type PaletteProps = {
  /** A hook: the entries for what was typed, best first. */
  readonly useEntries: (typed: string) => readonly PaletteEntry[]
  readonly onClose: () => void
}

/** A dialog that finds pages, actions and things by their words: arrow keys choose, Enter opens. */
export function Palette({ useEntries, onClose }: PaletteProps) {
  const { t } = useMessages(paletteMessages)
  const typed = useTyped()
  const entries = useEntries(typed.text).slice(0, maxShown)
  const [chosen, setChosen] = useState(0)
  const list = useId()
  const at = Math.min(chosen, entries.length - 1)
  useEffect(() => setChosen(0), [typed.text])
  useEffect(() => {
    document.getElementById(idOf(list, at))?.scrollIntoView({ block: 'nearest' })
  }, [at])
  const open = (entry: PaletteEntry | undefined) => {
    if (entry === undefined) return
    onClose()
    entry.run()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) setChosen((at + step + entries.length) % Math.max(1, entries.length))
    else if (event.key === 'Enter') open(entries[at])
    else return
    event.preventDefault()
  }
  return (
    <Modal opened onClose={onClose} title={t.title} size="lg" closeButtonProps={{ 'aria-label': t.close }}>
      <TextInput
        data-autofocus
        autoComplete="off"
        role="combobox"
        aria-label={t.title}
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={entries.length === 0 ? undefined : idOf(list, at)}
        placeholder={t.hint}
        maxLength={200}
        {...typed.props}
        onKeyDown={onKeyDown}
      />
      <Options list={list} entries={entries} at={at} onChoose={setChosen} onOpen={open} />
      <Text role="status" c="dimmed" size="sm">
        {entries.length === 0 ? t.nothing : ''}
      </Text>
    </Modal>
  )
}

const idOf = (list: string, index: number): string => `${list}-${index}`

type OptionsProps = {
  readonly list: string
  readonly entries: readonly PaletteEntry[]
  readonly at: number
  readonly onChoose: (index: number) => void
  readonly onOpen: (entry: PaletteEntry) => void
}

function Options({ list, entries, at, onChoose, onOpen }: OptionsProps) {
  const { t } = useMessages(paletteMessages)
  return (
    <div id={list} role="listbox" aria-label={t.title} className="palette">
      {entries.map((entry, index) => (
        <div
          key={entry.id}
          id={idOf(list, index)}
          role="option"
          aria-selected={index === at}
          className="palette-entry"
          onMouseMove={() => onChoose(index)}
          onClick={() => onOpen(entry)}
        >
          <Icon name={entry.icon} />
          <span className="palette-label">{entry.label}</span>
          {entry.note !== undefined && <span className="quiet">{entry.note}</span>}
        </div>
      ))}
    </div>
  )
}
