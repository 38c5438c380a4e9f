//! Groups of optional settings that can be laid over one another.

/// Declares a group of optional settings with `overlaid`, and a second struct that holds the same
/// settings and a few tables more. (Serde can flatten one struct into another, but then forgets
/// which field was wrong, and unknown fields are no longer refused.)
macro_rules! settings {
    (
        $(#[$meta:meta])*
        pub struct $name:ident { $($(#[$field_meta:meta])* $field:ident: $ty:ty,)* }

        $(#[$wide_meta:meta])*
        pub struct $wide:ident { $($(#[$more_meta:meta])* $more:ident: $more_ty:ty,)* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
        pub struct $name {
            $($(#[$field_meta])*
            #[serde(skip_serializing_if = "Option::is_none")]
            pub $field: Option<$ty>,)*
        }

        $(#[$wide_meta])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
        pub struct $wide {
            $($(#[$field_meta])*
            #[serde(skip_serializing_if = "Option::is_none")]
            pub $field: Option<$ty>,)*
            $($(#[$more_meta])*
            #[serde(skip_serializing_if = "Option::is_none")]
            pub $more: Option<$more_ty>,)*
        }

        impl $name {
            /// These settings, with those of `over` where it has any.
            #[must_use]
            pub fn overlaid(&self, over: Option<&Self>) -> Self {
                let Some(over) = over else { return self.clone() };
                Self {
                    $($field: over.$field.clone().or_else(|| self.$field.clone()),)*
                }
            }
        }

        impl $wide {
            /// The settings without the tables that refine them.
            #[must_use]
            pub fn common(&self) -> $name {
                $name { $($field: self.$field.clone(),)* }
            }
        }
    };
}
pub(super) use settings;
