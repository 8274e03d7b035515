//! How the notes of one area are declared.

/// The notes of one area: code, name, severity and list, the data, the sentence, and behind a `+` what it
/// advises.
macro_rules! notes {
    ($(#[$about:meta])* $area:ident {
        $($code:literal $name:literal $severity:ident $list:ident
            $variant:ident $({ $($field:ident: $type:ty),* $(,)? })?
            => ($($text:tt)+) $(+ $advice:literal)?,)+
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, serde::Deserialize)]
        #[serde(tag = "code")]
        #[allow(missing_docs, reason = "names have units; docs/reference/notes.md explains every note")]
        pub enum $area {
            $(
                #[doc = concat!($code, " ", $name)]
                #[serde(rename = $code)]
                $variant $({ $($field: $type),* })?,
            )+
        }

        impl $area {
            /// The codes of the area, in order.
            pub const CODES: &'static [$crate::note::Code] = &[$($crate::note::Code {
                code: $code,
                name: $name,
                severity: $crate::note::Severity::$severity,
                list: $crate::note::List::$list,
            }),+];

            #[allow(unused_variables)]
            pub(super) fn code(&self) -> $crate::note::Code {
                let code = match self {
                    $(Self::$variant $({ $($field),* })? => $code,)+
                };
                let mut known = Self::CODES.iter().copied();
                known.find(|known| known.code == code).unwrap_or($crate::note::RECORDED)
            }

            #[allow(unused_variables)]
            pub(super) fn reason(&self) -> String {
                match self {
                    $(Self::$variant $({ $($field),* })? => format!($($text)+),)+
                }
            }

            #[allow(unused_variables)]
            pub(super) fn advice(&self) -> Option<&'static str> {
                match self {
                    $(Self::$variant $({ $($field),* })? => [$($advice)?].first().copied(),)+
                }
            }

            pub(super) fn entries<M: serde::ser::SerializeMap>(
                &self,
                map: &mut M,
            ) -> Result<(), M::Error> {
                match self {
                    $(Self::$variant $({ $($field),* })? => {
                        $($(map.serialize_entry(stringify!($field), $field)?;)*)?
                    })+
                }
                Ok(())
            }
        }

        impl std::fmt::Display for $area {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $crate::note::write_sentences(f, &self.reason(), self.advice())
            }
        }
    };
}
