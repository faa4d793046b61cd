import { ActionIcon, Drawer, UnstyledButton, useComputedColorScheme, useMantineColorScheme } from '@mantine/core'
import { type ReactNode, useEffect, useState } from 'react'
import { Icon, type IconName, Mark } from './icons.tsx'
import { type Language, useLanguage, useWords } from './language.tsx'
import { useRoute } from './route.ts'
import { sharedWords } from './words.ts'

/** A way to a page. It is marked while somebody is there, or deeper. */
export type Way = { readonly path: string; readonly label: string; readonly icon: IconName }

export function LanguageSwitch() {
  const { language, choose } = useLanguage()
  const words = useWords(sharedWords)
  const names: readonly (readonly [Language, string, string])[] = [
    ['ru', 'RU', 'Русский'],
    ['en', 'EN', 'English'],
  ]
  return (
    <div className="switch" role="group" aria-label={words.language}>
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
  const words = useWords(sharedWords)
  const isDark = scheme === 'dark'
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      size="lg"
      aria-label={isDark ? words.toLight : words.toDark}
      onClick={() => setColorScheme(isDark ? 'light' : 'dark')}
    >
      <Icon name={isDark ? 'sun' : 'moon'} />
    </ActionIcon>
  )
}

const isAt = (here: string, way: string): boolean => (way === '/' ? here === '/' : here.startsWith(way))

function Ways({ ways, label }: { readonly ways: readonly Way[]; readonly label: string }) {
  const { path: here } = useRoute()
  return (
    <nav aria-label={label} className="ways">
      {ways.map(({ path, label: name, icon }) => (
        <a key={path} href={`#${path}`} aria-current={isAt(here, path) ? 'page' : undefined}>
          <Icon name={icon} />
          {name}
        </a>
      ))}
    </nav>
  )
}

type FrameProps = {
  readonly ways: readonly Way[]
  /** What stands under the ways: a balance, a name. */
  readonly foot: ReactNode
  readonly onLeave: () => void
  readonly children: ReactNode
}

/** What is around every page: ways, language, light, and the way out. On a phone the ways are behind a button. */
export function Frame({ ways, foot, onLeave, children }: FrameProps) {
  const words = useWords(sharedWords)
  const { path } = useRoute()
  const [isOpen, setOpen] = useState(false)
  useEffect(() => setOpen(false), [path])
  const switches = (
    <div className="switches">
      <LanguageSwitch />
      <ThemeSwitch />
      <ActionIcon variant="subtle" color="gray" size="lg" aria-label={words.signOut} onClick={onLeave}>
        <Icon name="out" />
      </ActionIcon>
    </div>
  )
  return (
    <div className="frame">
      <a className="skip" href="#content" onClick={skipTo}>
        {words.skip}
      </a>
      <header className="bar">
        <a className="brand" href="#/">
          <Mark /> Turnpike
        </a>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label={words.menu} onClick={() => setOpen(true)}>
          <Icon name="menu" />
        </ActionIcon>
      </header>
      <div className="side">
        <a className="brand" href="#/">
          <Mark /> Turnpike
        </a>
        <Ways ways={ways} label={words.menu} />
        <div className="side-foot">
          {foot}
          {switches}
        </div>
      </div>
      <Drawer
        opened={isOpen}
        onClose={() => setOpen(false)}
        size="17rem"
        title={words.menu}
        closeButtonProps={{ 'aria-label': words.close }}
      >
        <Ways ways={ways} label={words.menu} />
        <div className="side-foot">
          {foot}
          {switches}
        </div>
      </Drawer>
      <main id="content" tabIndex={-1}>
        {children}
      </main>
    </div>
  )
}

/** The address behind the `#` is a page's, so a link within a page moves the focus by hand. */
function skipTo(event: { preventDefault(): void }): void {
  event.preventDefault()
  document.getElementById('content')?.focus()
}
