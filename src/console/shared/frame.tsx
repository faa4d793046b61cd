import {
  ActionIcon,
  Button,
  Drawer,
  UnstyledButton,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core'
import { type ComponentType, type ReactNode, Suspense, useEffect, useRef, useState } from 'react'
import { leave } from '../client/session.ts'
import { brand as shop } from './brand.ts'
import { useOnline, usePath } from './browser.ts'
import { Icon, type IconName, Mark } from './icons.tsx'
import { commonMessages, type Language, useLanguage, useMessages } from './messages.tsx'
import { NoSuchPage, Notice } from './parts.tsx'
import { useOtherTabs } from './queries.ts'
import { UndoBar } from './undo.tsx'

/** A link of the menu, marked on its page and on the pages below it. */
export type MenuItem = { readonly path: string; readonly label: string; readonly icon: IconName }

export function LanguageSwitch() {
  const { language, choose } = useLanguage()
  const { t } = useMessages(commonMessages)
  const names: readonly (readonly [Language, string, string])[] = [
    ['ru', 'RU', 'Русский'],
    ['en', 'EN', 'English'],
  ]
  return (
    <div className="switch" role="group" aria-label={t.language}>
      {names.map(([each, short, name]) => (
        <UnstyledButton
          key={each}
          lang={each}
          aria-pressed={language === each}
          aria-label={`${short}: ${name}`}
          onClick={() => choose(each)}
        >
          {short}
        </UnstyledButton>
      ))}
    </div>
  )
}

export function ThemeSwitch() {
  const { setColorScheme } = useMantineColorScheme()
  const scheme = useComputedColorScheme()
  const { t } = useMessages(commonMessages)
  const isDark = scheme === 'dark'
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      size="lg"
      aria-label={isDark ? t.toLight : t.toDark}
      onClick={() => setColorScheme(isDark ? 'light' : 'dark')}
    >
      <Icon name={isDark ? 'sun' : 'moon'} />
    </ActionIcon>
  )
}

function Menu({ items, label }: { readonly items: readonly MenuItem[]; readonly label: string }) {
  const here = usePath()
  const isAt = (path: string): boolean => (path === '/' ? here === '/' : here.startsWith(path))
  return (
    <nav aria-label={label} className="ways">
      {items.map(({ path, label: name, icon }) => (
        <a key={path} href={`#${path}`} aria-current={isAt(path) ? 'page' : undefined}>
          <Icon name={icon} />
          {name}
        </a>
      ))}
    </nav>
  )
}

function ConnectionNotice() {
  const { t } = useMessages(commonMessages)
  if (useOnline()) return null
  return (
    <div className="viewed">
      <Notice tone="warn">{t.noConnection}</Notice>
    </div>
  )
}

function SignOut() {
  const { t } = useMessages(commonMessages)
  const icon = <Icon name="out" />
  return (
    <Button variant="subtle" color="gray" size="compact-sm" leftSection={icon} onClick={() => void leave()}>
      {t.signOut}
    </Button>
  )
}

type PaletteGiven = { readonly items: readonly MenuItem[]; readonly onClose: () => void }
export type PaletteOf = ComponentType<PaletteGiven>

/** Calls back when Ctrl K is pressed, or Command K. */
function usePaletteKey(onPress: () => void): void {
  const latest = useRef(onPress)
  useEffect(() => {
    latest.current = onPress
  })
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return
      event.preventDefault()
      if (!document.querySelector('[role=dialog]')) latest.current()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
}

type FrameProps = {
  readonly items: readonly MenuItem[]
  /** Finds pages, actions and things; it is loaded when it is opened. */
  readonly palette: PaletteOf
  readonly foot: ReactNode
  /** Shown in the bar of a phone. */
  readonly quick?: ReactNode
  readonly children: ReactNode
}

const Brand = () => (
  <a className="brand" href="#/">
    <Mark /> {shop.name}
  </a>
)

function FindButton({ onPress }: { readonly onPress: () => void }) {
  const { t } = useMessages(commonMessages)
  return (
    <UnstyledButton className="find" onClick={onPress} aria-keyshortcuts="Control+K">
      <Icon name="search" /> {t.goTo} <kbd aria-hidden="true">Ctrl K</kbd>
    </UnstyledButton>
  )
}

function Bar({
  quick,
  onMenu,
  children,
}: {
  readonly quick: ReactNode
  readonly onMenu: () => void
  readonly children: ReactNode
}) {
  const { t } = useMessages(commonMessages)
  return (
    <header className="bar">
      {children}
      {quick}
      <ActionIcon variant="subtle" color="gray" size="lg" aria-label={t.menu} onClick={onMenu}>
        <Icon name="menu" />
      </ActionIcon>
    </header>
  )
}

/** The menu around every page, with `foot`, the switches and the sign-out button under it; a drawer on a phone. */
export function Frame({ items, palette: Palette, foot, quick, children }: FrameProps) {
  const { t } = useMessages(commonMessages)
  const path = usePath()
  const [isOpen, setOpen] = useState(false)
  useEffect(() => setOpen(false), [path])
  const [isFinding, setFinding] = useState(false)
  const find = () => {
    setOpen(false)
    setFinding(true)
  }
  usePaletteKey(find)
  useOtherTabs()
  const menu = (
    <>
      <FindButton onPress={find} />
      <Menu items={items} label={t.menu} />
      <div className="side-foot">
        {foot}
        <div className="switches">
          <LanguageSwitch />
          <ThemeSwitch />
          <SignOut />
        </div>
      </div>
    </>
  )
  return (
    <div className="frame">
      <a className="skip" href="#content" onClick={skipTo}>
        {t.skip}
      </a>
      <Bar quick={quick} onMenu={() => setOpen(true)}>
        <Brand />
      </Bar>
      <header className="side">
        <Brand />
        {menu}
      </header>
      <Drawer
        opened={isOpen}
        onClose={() => setOpen(false)}
        size="17rem"
        title={t.menu}
        closeButtonProps={{ 'aria-label': t.close }}
      >
        {menu}
      </Drawer>
      <main id="content" tabIndex={-1}>
        <ConnectionNotice />
        {children}
      </main>
      <UndoBar />
      {isFinding && (
        <Suspense fallback={null}>
          <Palette items={items} onClose={() => setFinding(false)} />
        </Suspense>
      )}
    </div>
  )
}

/** The hash is the page's path, so a link within a page has to move the focus itself. */
function skipTo(event: { preventDefault(): void }): void {
  event.preventDefault()
  document.getElementById('content')?.focus()
}

/** Pages by their paths; the first group of a pattern is passed on. */
export type Pages = readonly (readonly [pattern: RegExp, show: (id: string) => ReactNode])[]

export function Routes({ pages }: { readonly pages: Pages }) {
  const path = usePath()
  for (const [pattern, show] of pages) {
    const found = pattern.exec(path)
    if (found) return show(found[1] ?? '')
  }
  return <NoSuchPage />
}
