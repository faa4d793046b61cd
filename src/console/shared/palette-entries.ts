import { useMantineColorScheme } from '@mantine/core'
import { leave } from '../client/session.ts'
import { go } from './browser.ts'
import type { MenuItem } from './frame.tsx'
import { messages, pair, useMessages } from './messages.tsx'
import type { PaletteEntry } from './palette.tsx'

const entryMessages = messages({
  page: pair('Page', 'Страница'),
  action: pair('Action', 'Действие'),
  other: pair('По-русски', 'In English'),
})

/** Entries of both consoles: the pages of the menu, and what its foot does. */
export function useCommonEntries(items: readonly MenuItem[]): readonly PaletteEntry[] {
  const { t, language, choose } = useMessages(entryMessages)
  const { setColorScheme } = useMantineColorScheme()
  const action = (id: string, icon: PaletteEntry['icon'], label: string, run: () => void): PaletteEntry => ({
    id,
    icon,
    label,
    run,
    note: t.action,
  })
  return [
    ...items.map(({ path, label, icon }) => ({ id: path, icon, label, note: t.page, run: () => void go(path) })),
    action('dark', 'moon', t.toDark, () => setColorScheme('dark')),
    action('light', 'sun', t.toLight, () => setColorScheme('light')),
    action('language', 'globe', t.other, () => choose(language === 'en' ? 'ru' : 'en')),
    action('leave', 'out', t.signOut, () => void leave()),
  ]
}
